use expect_test::{Expect, expect};

use super::*;
use crate::parse::{FileOp, Patch};

/// Applies the chunks to the content; prints the new content, then notes, or the mismatch.
fn check(content: &str, chunks: &str, expected: Expect) {
    let text = format!("*** Begin Patch\n*** Update File: f\n{chunks}*** End Patch");
    let patch = Patch::parse(&text).unwrap();
    let [FileOp::Update { chunks, .. }] = &patch.operations[..] else {
        panic!("one update");
    };
    let shown = match edit("f", content, chunks) {
        Ok(edited) => {
            let notes = edited.notes.iter().map(|note| format!("\n{note}"));
            format!("{:?}", edited.content) + &notes.collect::<String>()
        }
        Err(mismatch) => mismatch.to_string(),
    };
    expected.assert_eq(&shown);
}

#[test]
fn replaces_in_order() {
    check(
        "a\nb\nc\n",
        "-a\n+1\n@@\n-c\n+3\n",
        expect![[r#""1\nb\n3\n""#]],
    );
    check("a\nb\na\n", "@@ b\n-a\n+x\n", expect![[r#""a\nb\nx\n""#]]);
    check("", "+a\n", expect![[r#""a\n""#]]);
    check("a\n", "-a\n", expect![[r#""""#]]);
}

#[test]
fn additions_go_below_their_place_or_to_the_end() {
    check("a\nb\nc\n", "@@ a\n+x\n", expect![[r#""a\nx\nb\nc\n""#]]);
    check(
        "a\nb\nc\n",
        "+x\n@@\n-b\n+y\n",
        expect![[r#""a\ny\nc\nx\n""#]],
    );
    check(
        "a\nb\n",
        "@@ a\n+x\n*** End of File\n",
        expect![[r#""a\nb\nx\n""#]],
    );
    check(
        "a\nb\nc\n",
        "@@ a\n+x\n@@\n-b\n+y\n",
        expect![[r#""a\nx\ny\nc\n""#]],
    );
}

#[test]
fn context_stays_as_it_is_in_the_file() {
    check(
        "  a\t\r\n  b\r\nc",
        " a\n-b\n+B\n c\n",
        expect![[r#"
            "  a\t\r\nB\r\nc"
            f: line 1 was matched without regard to indentation"#]],
    );
}

#[test]
fn the_end_of_the_file_is_tried_first() {
    check(
        "a\nb\na\n",
        "-a\n+x\n*** End of File\n",
        expect![[r#""a\nb\nx\n""#]],
    );
    check(
        "a\nb\n",
        "-a\n+x\n*** End of File\n",
        expect![[r#"
            "x\nb\n"
            f: the lines marked as the end of the file stand at 1"#]],
    );
}

#[test]
fn several_places_are_told() {
    check(
        "a\nb\na\n",
        "-a\n+x\n",
        expect![[r#"
            "x\nb\na\n"
            f: the lines at 1 occur again at 3; the first place was changed (an `@@` line would choose)"#]],
    );
}

#[test]
fn a_phantom_empty_line_is_forgiven() {
    check("a\nb\n", "-b\n+c\n\n", expect![[r#""a\nc\n""#]]);
    check("a\nb\n", " b\n-\n+c\n", expect![[r#""a\nb\nc\n""#]]);
    check("a\nb\n", " b\n \n+c\n", expect![[r#""a\nb\n\nc\n""#]]);
    check("a\n\nb\n", " a\n \n+c\n b\n", expect![[r#""a\n\nc\nb\n""#]]);
}

#[test]
fn mismatches_say_what_to_do() {
    check(
        "a\n",
        "@@ q\n-a\n+b\n",
        expect!["no line `q` after line 0; copy the `@@` line from the file or leave it out"],
    );
    check(
        "a\n",
        "-b\n+c\n",
        expect![[r"
        these lines are not in the file:
            b
        read the file again and copy its lines"]],
    );
    check(
        "a\n",
        " a\n-b\n",
        expect![[r"
        these lines are not in the file:
            a
            b
        the first 1 match at line 1, then the file has its end; read the file again and copy its lines"]],
    );
    check(
        "a\nb\n",
        "-b\n@@\n-a\n",
        expect![[r"
        these lines stand at line 1, above a chunk before them; put the chunks in the order of the file:
            a"]],
    );
}

#[test]
fn a_mismatch_quotes_a_bounded_part() {
    let line = format!("-{}\n", "x".repeat(1000));
    let text = format!(
        "*** Begin Patch\n*** Update File: f\n{}*** End Patch",
        line.repeat(1000)
    );
    let patch = Patch::parse(&text).unwrap();
    let [FileOp::Update { chunks, .. }] = &patch.operations[..] else {
        panic!("one update");
    };
    let mismatch = edit("f", "a\n", chunks).unwrap_err().to_string();
    assert!(mismatch.len() < 4000, "{}", mismatch.len());
}
