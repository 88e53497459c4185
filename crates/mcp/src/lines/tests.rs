use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::{McpLineBuffer, StderrTail, TooLong};

fn check(pieces: &[&str], expected: Expect) {
    let mut lines = McpLineBuffer::new(8);
    let mut shown = Vec::new();
    for piece in pieces {
        match lines.push(piece.as_bytes()) {
            Ok(lines) => shown.extend(
                lines
                    .into_iter()
                    .map(|line| String::from_utf8(line).unwrap()),
            ),
            Err(TooLong) => shown.push("too long".to_owned()),
        }
    }
    expected.assert_eq(&shown.join("|"));
}

#[test]
fn a_line_may_come_in_pieces() {
    check(&["a", "b\nc", "d\r\n", "rest"], expect!["ab|cd"]);
    check(&["\n\r\n\n"], expect![""]);
}

#[test]
fn a_line_without_end_is_refused() {
    check(&["12345678", "\n"], expect!["12345678"]);
    check(&["12345678", "9"], expect!["too long"]);
    check(&["123456789\n"], expect!["too long"]);
}

#[test]
fn of_a_long_complaint_the_end_is_kept() {
    let mut tail = StderrTail::new(10);
    assert_eq!(tail.text(), None);
    tail.push(b"something long\n");
    tail.push(b"\x1b[31mlast\n");
    assert_eq!(tail.text().as_deref(), Some("[31mlast"));
}

proptest! {
    #[test]
    fn the_cuts_of_the_stream_do_not_matter(text in "[ab\n]{0,60}", at in 0_usize..60) {
        let at = at.min(text.len());
        let mut whole = McpLineBuffer::new(100);
        let mut cut = McpLineBuffer::new(100);
        let expected = whole.push(text.as_bytes()).unwrap();
        let mut lines = cut.push(&text.as_bytes()[..at]).unwrap();
        lines.extend(cut.push(&text.as_bytes()[at..]).unwrap());
        prop_assert_eq!(lines, expected);
    }
}
