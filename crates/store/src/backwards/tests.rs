use super::{BackwardReader, line_start_before};
use crate::limits::CHUNK_BYTES;

/// Reads all lines before `end`, the last one first.
fn lines(source: &[u8], end: usize) -> Vec<(u64, u64, Vec<u8>)> {
    let mut backwards = BackwardReader::new(source, end as u64);
    let mut lines = Vec::new();
    while let Some(line) = backwards.line_before().unwrap() {
        lines.push((line.start, line.end, line.bytes.unwrap().to_owned()));
    }
    lines
}

#[test]
fn lines_come_last_first() {
    let source = b"one\n\nthree\n";
    let expected = [
        (5, 11, b"three".to_vec()),
        (4, 5, vec![]),
        (0, 4, b"one".to_vec()),
    ];
    assert_eq!(lines(source, 11), expected);
    assert_eq!(lines(source, 5), expected[1..]);
    assert_eq!(lines(source, 0), []);
}

#[test]
fn lines_of_any_length_are_whole() {
    let sizes = [
        0,
        1,
        CHUNK_BYTES - 1,
        CHUNK_BYTES,
        CHUNK_BYTES + 1,
        5 * CHUNK_BYTES,
        3,
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
    expected.reverse();
    assert_eq!(lines(&source, source.len()), expected);
}

#[test]
fn a_jump_goes_on_before_its_target_near_or_far() {
    let mut source = b"first\nsecond\n".to_vec();
    source.extend(std::iter::repeat_n(b"skipped\n", 3 * CHUNK_BYTES / 8).flatten());
    let end = source.len() as u64;
    for seen in [1, 2000, 10_000] {
        let mut backwards = BackwardReader::new(source.as_slice(), end);
        for _ in 0..seen {
            assert_eq!(
                backwards.line_before().unwrap().unwrap().bytes,
                Some(&b"skipped"[..])
            );
        }
        backwards.jump(13);
        assert_eq!(
            backwards.line_before().unwrap().unwrap().bytes,
            Some(&b"second"[..])
        );
        backwards.jump(6);
        assert_eq!(
            backwards.line_before().unwrap().unwrap().bytes,
            Some(&b"first"[..])
        );
        assert_eq!(backwards.line_before().unwrap(), None);
    }
}

#[test]
fn the_start_of_an_unfinished_line_is_found() {
    let check = |source: &[u8], expected| {
        let found = line_start_before(source, source.len() as u64).unwrap();
        assert_eq!(found, expected);
    };
    check(b"", 0);
    check(b"torn", 0);
    check(b"whole\n", 6);
    check(b"whole\ntorn", 6);
    let mut long = b"whole\n".to_vec();
    long.resize(3 * CHUNK_BYTES, 0);
    check(&long, 6);
}
