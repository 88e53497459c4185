use expect_test::{Expect, expect};

use super::*;

/// A state by one letter; `-` is none.
fn state(letter: &str) -> FileState {
    match letter {
        "-" => FileState::Absent,
        letter => FileState::File {
            sha256: letter.to_owned(),
            mode: 0o644,
        },
    }
}

/// `file:before>after`, in words.
fn files(text: &str) -> Vec<ChangedFile> {
    let file = |word: &str| {
        let (path, states) = word.split_once(':').unwrap();
        let (before, after) = states.split_once('>').unwrap();
        ChangedFile {
            path: path.into(),
            before: state(before),
            after: state(after),
        }
    };
    text.split_whitespace().map(file).collect()
}

fn changed(turn: &str, text: &str) -> FileFact {
    FileFact::Changed {
        turn_id: turn.into(),
        files: files(text),
        directories: Vec::new(),
        unseen: Vec::new(),
    }
}

fn touching(turn: &str, path: &str) -> FileFact {
    FileFact::Touching {
        turn_id: turn.into(),
        files: vec![FileBefore {
            path: path.into(),
            before: FileState::Absent,
        }],
    }
}

fn undone(numbers: &[u32]) -> FileFact {
    FileFact::Undone {
        numbers: numbers.to_vec(),
        files: files("a:2>1"),
        directories: Vec::new(),
    }
}

fn check(facts: Vec<FileFact>, wanted: u32, expected: Expect) {
    let ledger = UndoLedger::fold(facts);
    let shown = match ledger.last(wanted) {
        Err(nothing) => nothing.to_string(),
        Ok(entries) => {
            let line = |(number, entry): (u32, &UndoEntry)| match &entry.known {
                KnownChanges::Ended { files, .. } => {
                    format!("{number} {} {}", entry.turn_id, files.len())
                }
                KnownChanges::CutOff(cut) => format!(
                    "{number} {} cut off, {} touched",
                    entry.turn_id,
                    cut.touched.len()
                ),
            };
            let lines: Vec<String> = entries.into_iter().map(line).collect();
            lines.join("\n")
        }
    };
    expected.assert_eq(&shown);
}

#[test]
fn the_last_turns_come_first() {
    let facts = || vec![changed("t1", "a:->1"), changed("t2", "a:1>2")];
    check(
        vec![],
        1,
        expect![
            "no turn is known to have changed files; what commands change is seen in a git repository only"
        ],
    );
    check(facts(), 1, expect!["1 t2 1"]);
    check(
        facts(),
        2,
        expect![[r#"
        1 t2 1
        0 t1 1"#]],
    );
    check(
        facts(),
        3,
        expect!["3 turns cannot be taken back; between 1 and 2 can"],
    );
    check(
        facts(),
        0,
        expect!["0 turns cannot be taken back; between 1 and 2 can"],
    );
}

#[test]
fn what_was_taken_back_is_not_taken_back_again() {
    let facts = || vec![changed("t1", "a:->1"), changed("t2", "a:1>2"), undone(&[1])];
    check(facts(), 1, expect!["0 t1 1"]);
    check(
        [facts(), vec![undone(&[0])]].concat(),
        1,
        expect![
            "nothing is left to undo: every turn that changed files is undone already; `troupe undo --redo` brings the last one back"
        ],
    );
    check(
        [facts(), vec![FileFact::Redone]].concat(),
        1,
        expect!["1 t2 1"],
    );
    let ledger = UndoLedger::fold(facts());
    assert_eq!(ledger.last_undo().unwrap().1, ["t2".into()]);
    let ledger = UndoLedger::fold([facts(), vec![FileFact::Redone]].concat());
    assert_eq!(ledger.last_undo().unwrap_err(), NothingToUndo::NoUndo);
}

#[test]
fn a_turn_without_an_end_was_cut_off() {
    let begun = || {
        vec![
            touching("t1", "a"),
            touching("t1", "b"),
            touching("t1", "a"),
        ]
    };
    check(begun(), 1, expect!["0 t1 cut off, 2 touched"]);
    check(
        [begun(), vec![changed("t1", "a:->1 b:->1")]].concat(),
        1,
        expect!["0 t1 2"],
    );
    // It changed nothing in the end.
    check(
        [begun(), vec![changed("t1", "")]].concat(),
        1,
        expect![
            "no turn is known to have changed files; what commands change is seen in a git repository only"
        ],
    );
    check(
        [begun(), vec![changed("t2", "c:->1")]].concat(),
        2,
        expect![[r#"
        1 t2 1
        0 t1 cut off, 2 touched"#]],
    );
    // Its number stays, so that what was taken back stays so.
    check(
        [begun(), vec![undone(&[0]), touching("t2", "c")]].concat(),
        1,
        expect!["1 t2 cut off, 1 touched"],
    );
}

fn check_ways(turns: &[&str], expected: Expect) {
    let turns: Vec<Vec<ChangedFile>> = turns.iter().map(|turn| files(turn)).collect();
    let letter = |state: &FileState| match state {
        FileState::File { sha256, .. } => sha256.clone(),
        FileState::Absent | FileState::Link { .. } | FileState::Other { .. } => "-".to_owned(),
    };
    let shown: Vec<String> = ways(turns.iter().map(Vec::as_slice))
        .iter()
        .map(|way| {
            let broken = if way.is_broken { " broken" } else { "" };
            let (from, to) = (letter(&way.from), letter(&way.to));
            format!("{} {from}>{to}{broken}", way.path.display())
        })
        .collect();
    expected.assert_eq(&shown.join(", "));
}

#[test]
fn the_ways_of_turns_are_joined() {
    check_ways(&["a:1>2"], expect!["a 2>1"]);
    check_ways(&["a:1>2 b:->1", "a:->1"], expect!["a 2>-, b 1>-"]);
    // Between the turns somebody made a 5 of it.
    check_ways(&["a:5>2", "a:->1"], expect!["a 2>- broken"]);
}
