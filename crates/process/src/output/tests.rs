use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn check(bytes_max: usize, pushes: &[&[u8]], expected: Expect) {
    let mut buffer = OutputBuffer::new(bytes_max);
    for bytes in pushes {
        buffer.push(bytes);
    }
    let (bytes, lines) = (buffer.total_bytes(), buffer.total_lines());
    expected.assert_eq(&format!(
        "{}\n--- {bytes} bytes, {lines} lines",
        buffer.render()
    ));
}

#[test]
fn what_fits_is_kept_whole() {
    check(
        8,
        &[],
        expect![[r"

        --- 0 bytes, 0 lines"]],
    );
    check(
        8,
        &[b"abc\n", b"defg"],
        expect![[r"
        abc
        defg
        --- 8 bytes, 2 lines"]],
    );
}

#[test]
fn beginning_and_end_survive_and_the_cut_is_stated() {
    check(
        8,
        &[b"abcdefghi"],
        expect![[r"
        abcd
        … 1 bytes omitted …
        fghi
        --- 9 bytes, 1 lines"]],
    );
    check(
        8,
        &[b"ab", b"cdef", b"ghij", b"k\nlm\n"],
        expect![[r"
        abcd
        … 7 bytes omitted …

        lm

        --- 15 bytes, 2 lines"]],
    );
}

#[test]
fn a_character_is_never_cut_in_two() {
    check(
        8,
        &["aaaé…………é".as_bytes()],
        expect![[r"
            aaa
            … 14 bytes omitted …
            é
            --- 19 bytes, 1 lines"]],
    );
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    check(
        8,
        &[b"a\xffb"],
        expect![[r"
        a�b
        --- 3 bytes, 1 lines"]],
    );
    check(
        4,
        &[b"\xff\xfe\x80\x80\x80\x80\x80"],
        expect![[r"
        ��
        … 5 bytes omitted …

        --- 7 bytes, 1 lines"]],
    );
}

proptest! {
    #[test]
    fn how_the_bytes_are_pushed_does_not_matter(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        max in 0_usize..100,
        step in 1_usize..20,
    ) {
        let mut whole = OutputBuffer::new(max);
        whole.push(&bytes);
        let mut pieces = OutputBuffer::new(max);
        for piece in bytes.chunks(step) {
            pieces.push(piece);
        }
        prop_assert_eq!(whole.render(), pieces.render());
        prop_assert_eq!(whole.total_lines(), pieces.total_lines());
        prop_assert_eq!(pieces.total_bytes(), bytes.len() as u64);
        prop_assert!(pieces.head.len() + pieces.tail.len() <= max);
    }
}
