use std::io::Cursor;

use super::*;

fn check(text: &[u8], expected: &str) {
    let mut reader = BufReader::with_capacity(4, Cursor::new(text));
    let mut line = TruncatedLine::default();
    let mut answer = String::new();
    let mut number = 0;
    while line.read(&mut reader).unwrap() {
        number += 1;
        line.write_numbered(number, &mut answer);
    }
    assert_eq!(answer, expected);
}

#[test]
fn lines_are_numbered_whatever_ends_them() {
    check(b"", "");
    check(b"one", "     1\tone\n");
    check(b"one\n", "     1\tone\n");
    check(
        b"one\r\n\r\nlonger three",
        "     1\tone\n     2\t\n     3\tlonger three\n",
    );
    check(b"caf\xe9\n", "     1\tcaf\u{fffd}\n");
}

#[test]
fn a_long_line_is_cut_between_characters() {
    let line = format!("{}ä{}", "x".repeat(READ_LINE_BYTES_MAX - 1), "y".repeat(99));
    let mut answer = String::new();
    let mut reader = Cursor::new(line.as_bytes());
    let mut kept = TruncatedLine::default();
    assert!(kept.read(&mut reader).unwrap());
    kept.write_numbered(1, &mut answer);
    assert!(
        answer.ends_with("xxx [… 100 more bytes in this line]\n"),
        "{answer}"
    );
}
