use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// Prints a parsed patch in one line per operation and chunk, or the error.
fn check(text: &str, expected: Expect) {
    expected.assert_eq(&show(&Patch::parse(text)));
}

/// The same with the markers around.
fn check_body(body: &str, expected: Expect) {
    check(&format!("{BEGIN}\n{body}{END}\n"), expected);
}

fn show(parsed: &Result<Patch, ParseError>) -> String {
    let patch = match parsed {
        Ok(patch) => patch,
        Err(error) => return format!("error: {error}"),
    };
    let operations = patch.operations.iter().map(|operation| match operation {
        FileOp::Add { path, content } => format!("add {path} {content:?}"),
        FileOp::Delete { path } => format!("delete {path}"),
        FileOp::Update {
            path,
            move_to,
            chunks,
        } => {
            let moved = move_to.iter().map(|to| format!(" -> {to}"));
            let chunks = chunks.iter().map(show_chunk);
            format!("update {path}") + &moved.chain(chunks).collect::<String>()
        }
    });
    operations.collect::<Vec<_>>().join("\n")
}

fn show_chunk(chunk: &PatchChunk) -> String {
    let end = if chunk.at_end { " at end" } else { "" };
    let lines = chunk.lines.iter().map(|line| match line {
        ChunkLine::Keep(text) => format!(" ={text}"),
        ChunkLine::Remove(text) => format!(" -{text}"),
        ChunkLine::Add(text) => format!(" +{text}"),
    });
    format!("\n  {:?}{}{end}", chunk.places, lines.collect::<String>())
}

#[test]
fn operations() {
    check_body(
        "*** Add File: a b.txt\n+one\n+\n*** Delete File: c\n*** Update File: d\n*** Move to: e\n",
        expect![[r#"
            add a b.txt "one\n\n"
            delete c
            update d -> e"#]],
    );
}

#[test]
fn a_line_that_names_the_environment_stands_before_the_first_file() {
    check_body(
        "*** Environment ID: local\n*** Delete File: c\n",
        expect!["delete c"],
    );
    check_body(
        "*** Delete File: c\n*** Environment ID: local\n",
        expect![
            "error: line 3: `*** Environment ID: local` is not a file header; use `*** Add File: PATH`, `*** Delete File: PATH` or `*** Update File: PATH`"
        ],
    );
}

#[test]
fn chunks() {
    check_body(
        "*** Update File: f\n first\n@@\n-a\n+b\n\n@@ fn x\n@@  y\n c\n*** End of File\n\n@@ z\n+d\n",
        expect![[r#"
            update f
              [] =first
              [] -a +b =
              ["fn x", " y"] =c at end
              ["z"] +d"#]],
    );
}

#[test]
fn markers_in_the_text_of_a_file() {
    check_body(
        "*** Update File: f\n *** End Patch\n-@@ x\n+*** Add File: y\n",
        expect![[r"
            update f
              [] =*** End Patch -@@ x +*** Add File: y"]],
    );
}

#[test]
fn headers_of_unified_diffs() {
    check_body(
        "*** Update File: f\n@@ -1,2 +3,4 @@\n a\n@@ -1 +1 @@ fn x()\n b\n@@ a @@ b\n c\n",
        expect![[r#"
            update f
              [] =a
              ["fn x()"] =b
              ["a @@ b"] =c"#]],
    );
}

#[test]
fn wrappings() {
    let inner = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
    for text in [
        inner.to_owned(),
        format!("\u{feff}\n  \n{inner}\n\n  \n"),
        format!("<<EOF\n{inner}\nEOF\n"),
        format!("<<'PATCH'\n{inner}\nPATCH"),
        format!("apply_patch <<\"EOF\"\n{inner}\nEOF\n"),
        format!("<<EOF\n{inner}\n"),
        inner.replace('\n', "\r\n"),
    ] {
        check(&text, expect!["delete a"]);
    }
}

#[test]
fn blanks_before_the_end_marker() {
    let update = "*** Begin Patch \n*** Update File: f\n-a\n";
    for end in [
        " *** End Patch",
        "  *** End Patch\n\n",
        "*** End of File\n  *** End Patch",
    ] {
        let parsed = Patch::parse(&format!("{update}{end}")).unwrap();
        assert_eq!(parsed.operations.len(), 1, "{end}");
    }
    check(
        "*** Begin Patch\n*** Update File: f\n *** End Patch\n",
        expect![
            "error: line 2: the update of f changes nothing; give it a chunk or `*** Move to: PATH`"
        ],
    );
}

#[test]
fn not_a_patch() {
    check(
        "",
        expect!["error: the first line of a patch must be `*** Begin Patch`, not ``"],
    );
    check(
        "hello",
        expect!["error: the first line of a patch must be `*** Begin Patch`, not `hello`"],
    );
    check(
        "*** Begin Patch\n",
        expect![
            "error: the patch ends without `*** End Patch`: send the whole patch, with that as its last line"
        ],
    );
    check(
        "cat <<EOF\n*** Begin Patch\n",
        expect!["error: the first line of a patch must be `*** Begin Patch`, not `cat <<EOF`"],
    );
    check_body("", expect![""]);
    check(
        "*** Begin Patch\n*** End Patch\nEOF\n",
        expect!["error: line 3: nothing may follow `*** End Patch`, but there is `EOF`"],
    );
}

#[test]
fn mistakes_are_told_with_their_line() {
    check_body(
        "*** Copy File: a\n",
        expect![
            "error: line 2: `*** Copy File: a` is not a file header; use `*** Add File: PATH`, `*** Delete File: PATH` or `*** Update File: PATH`"
        ],
    );
    check_body(
        "*** Add File:  \n",
        expect!["error: line 2: a header needs a path after the colon"],
    );
    check_body(
        "*** Add File: a\n+x\n\n+y\n",
        expect!["error: line 4: every line of an added file starts with `+`, but there is ``"],
    );
    check_body(
        "*** Add File: a\n x\n",
        expect!["error: line 3: every line of an added file starts with `+`, but there is ` x`"],
    );
    check_body(
        "*** Update File: a\n*** Delete File: b\n",
        expect![
            "error: line 2: the update of a changes nothing; give it a chunk or `*** Move to: PATH`"
        ],
    );
    check_body(
        "*** Update File: a\n@@\n",
        expect!["error: line 4: the chunk that ends here has no lines"],
    );
    check_body(
        "*** Update File: a\n@@\n@@ x\n y\n",
        expect!["error: line 4: the chunk that ends here has no lines"],
    );
    check_body(
        "*** Update File: a\n*** End of File\n",
        expect!["error: line 3: the chunk that ends here has no lines"],
    );
    check_body(
        "*** Update File: a\n-x\n*** Move to: b\n",
        expect!["error: line 4: `*** Move to:` stands once, directly below `*** Update File:`"],
    );
    check_body(
        "*** Update File: a\n-x\nyy\n",
        expect![
            "error: line 4: in an update a line starts with ` ` (unchanged), `+` (added), `-` (removed) or `@@` (next chunk), but there is `yy`"
        ],
    );
    check_body(
        "*** Update File: a\n-x\n*** End of File\n-y\n",
        expect![
            "error: line 5: after `*** End of File` only `@@` or a file header may follow, not `-y`"
        ],
    );
}

#[test]
fn sizes_are_bounded() {
    let long = format!(
        "{BEGIN}\n*** Add File: a\n+{}\n{END}",
        "x".repeat(PATCH_BYTES_MAX)
    );
    check(
        &long,
        expect!["error: the patch is longer than 8388608 bytes; split it"],
    );
    let many = "*** Delete File: a\n".repeat(OPERATIONS_MAX + 1);
    check_body(
        &many,
        expect!["error: line 258: a patch holds at most 256 files; split it"],
    );
    let line = format!("*** Add File: a\n{}\n", "é".repeat(1000));
    let error = Patch::parse(&format!("{BEGIN}\n{line}"))
        .unwrap_err()
        .to_string();
    assert!(error.len() < 500, "{error}");
}

#[test]
fn operations_are_known_before_the_end() {
    let mut parser = PatchParser::default();
    parser
        .push("*** Begin Patch\n*** Add File: a\n+on")
        .unwrap();
    assert_eq!(parser.operations().len(), 1);
    parser.push("e\n*** Delete").unwrap();
    let content = "one\n".to_owned();
    let path = "a".to_owned();
    assert_eq!(parser.operations(), [FileOp::Add { path, content }]);
}

#[test]
fn an_error_is_final() {
    let mut parser = PatchParser::default();
    let error = parser.push("nonsense\n").unwrap_err();
    assert_eq!(parser.push("*** Begin Patch\n"), Err(error.clone()));
    assert_eq!(parser.finish(), Err(error));
}

/// Text made of the pieces that mean something to the parser.
fn patch_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("*** Begin Patch"),
        Just("*** End Patch"),
        Just("*** Add File: ä"),
        Just("*** Update File: b"),
        Just("*** Delete File: c"),
        Just("*** Move to: d"),
        Just("*** End of File"),
        Just("@@ x"),
        Just("@@"),
        Just("+é"),
        Just("-y"),
        Just(" z"),
        Just("<<EOF"),
        Just("EOF"),
        Just("\r"),
        Just(""),
    ];
    let lines = prop::collection::vec(piece, 0..20);
    (lines, any::<bool>()).prop_map(|(lines, framed)| {
        let body = lines.join("\n");
        if framed {
            format!("{BEGIN}\n*** Update File: a\n{body}\n{END}")
        } else {
            body
        }
    })
}

proptest! {
    #[test]
    fn pieces_mean_what_the_whole_means(
        text in patch_text(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut ends: Vec<usize> = cuts
            .iter()
            .map(|cut| text.floor_char_boundary(cut.index(text.len() + 1)))
            .collect();
        ends.push(text.len());
        ends.sort_unstable();
        let mut parser = PatchParser::default();
        let mut start = 0;
        let mut failed = None;
        for end in ends {
            failed = failed.or(parser.push(&text[start..end]).err());
            start = end;
        }
        let pieces = parser.finish();
        if let Some(error) = failed {
            prop_assert_eq!(&pieces, &Err(error));
        }
        prop_assert_eq!(pieces, Patch::parse(&text));
    }

    #[test]
    fn any_text_is_answered(text in "\\PC*") {
        prop_assert!(Patch::parse(&text).is_err());
    }
}
