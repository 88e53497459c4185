use super::{ForwardReader, batch, line_numbers};
use crate::limits::{BATCH_BYTES_MAX, CHUNK_BYTES};
use crate::store::LogPosition;

fn lines(source: &[u8], from: u64) -> Vec<(u64, u64, Vec<u8>)> {
    let mut forwards = ForwardReader::new(source, LogPosition(from)).unwrap();
    let mut lines = Vec::new();
    while let Some(line) = forwards.next_line().unwrap() {
        lines.push((line.start, line.end, line.bytes.unwrap().to_owned()));
    }
    lines
}

#[test]
fn whole_lines_come_in_order() {
    let source = b"one\n\nthree\ntorn";
    let expected = [
        (0, 4, b"one".to_vec()),
        (4, 5, vec![]),
        (5, 11, b"three".to_vec()),
    ];
    assert_eq!(lines(source, 0), expected);
    assert_eq!(lines(source, 4), expected[1..]);
    assert_eq!(lines(source, 11), []);
    assert_eq!(lines(b"", 0), []);
}

#[test]
fn lines_of_any_length_are_whole() {
    let sizes = [
        3,
        1,
        CHUNK_BYTES - 1,
        CHUNK_BYTES,
        CHUNK_BYTES + 1,
        5 * CHUNK_BYTES,
        0,
        700_000,
    ];
    let mut source = Vec::new();
    let mut expected = Vec::new();
    for (number, size) in (0u8..).zip(sizes) {
        let start = source.len() as u64;
        let line = vec![b'a' + number; size];
        source.extend_from_slice(&line);
        source.push(b'\n');
        expected.push((start, source.len() as u64, line));
    }
    assert_eq!(lines(&source, 0), expected);
}

#[test]
fn batches_are_bounded_and_join_without_a_gap() {
    let source = b"0123456789abcdef\n".repeat(200_000);
    let mut from = LogPosition(0);
    let mut count = 0;
    loop {
        let batch = batch(source.as_slice(), from).unwrap();
        let bytes: usize = batch.lines.iter().map(|line| line.bytes.len()).sum();
        assert!(bytes <= BATCH_BYTES_MAX);
        assert!(batch.lines.first().is_none_or(|line| line.start == from));
        count += batch.lines.len();
        from = batch.next;
        if batch.at_end {
            break;
        }
    }
    assert_eq!((count, from), (200_000, LogPosition(source.len() as u64)));
}

#[test]
fn line_numbers_begin_at_one() {
    assert_eq!(
        line_numbers(&b"a\nb\n\nd\n"[..], &[0, 2, 4, 5]).unwrap(),
        [1, 2, 3, 4]
    );
}
