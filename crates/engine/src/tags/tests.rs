use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Block {
    Note,
    Aside,
}

const TAGS: &[BlockTag<Block>] = &[
    BlockTag {
        block: Block::Note,
        open: "<note>",
        close: "</note>",
    },
    BlockTag {
        block: Block::Aside,
        open: "<aside>",
        close: "</aside>",
    },
];

/// Reads chunks and shows, chunk by chunk, what is known after each.
fn check(chunks: &[&str], expected: &Expect) {
    let mut reader = TagReader::new(TAGS);
    let mut lines = Vec::new();
    for chunk in chunks {
        let mut out = Vec::new();
        reader.push(chunk, &mut out);
        lines.push(format!("{chunk:?}: {out:?}"));
    }
    let mut out = Vec::new();
    reader.finish(&mut out);
    lines.push(format!("end: {out:?}"));
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn a_block_stands_between_lines_of_its_own() {
    check(
        &["before\n<note>\nwithin\n</note>\nafter"],
        &expect![[r#"
            "before\n<note>\nwithin\n</note>\nafter": [Text("before\n"), Open(Note), Inner(Note, "within\n"), Close(Note), Text("after")]
            end: []
        "#]],
    );
}

#[test]
fn a_line_is_held_back_only_while_it_may_be_a_tag() {
    check(
        &[
            "<",
            "no",
            "te",
            "s of a tune>",
            "\n",
            "<note",
            ">",
            "\n",
            "x",
        ],
        &expect![[r#"
            "<": []
            "no": []
            "te": []
            "s of a tune>": [Text("<notes of a tune>")]
            "\n": [Text("\n")]
            "<note": []
            ">": []
            "\n": [Open(Note)]
            "x": [Inner(Note, "x")]
            end: [Close(Note)]
        "#]],
    );
}

#[test]
fn a_tag_among_other_words_is_text() {
    check(
        &["say <note> here\n<note> x\n", "see </note>"],
        &expect![[r#"
            "say <note> here\n<note> x\n": [Text("say <note> here\n<note> x\n")]
            "see </note>": [Text("see </note>")]
            end: []
        "#]],
    );
}

#[test]
fn white_space_around_a_tag_does_not_matter() {
    check(
        &["  <note>\t\r\nx\r\n </note> "],
        &expect![[r#"
            "  <note>\t\r\nx\r\n </note> ": [Open(Note), Inner(Note, "x\r\n")]
            end: [Close(Note)]
        "#]],
    );
}

#[test]
fn inside_a_block_only_its_own_end_counts() {
    check(
        &["<note>\n<aside>\n<note>\n</aside>\n</note>\n<aside>\ny\n</aside>"],
        &expect![[r#"
            "<note>\n<aside>\n<note>\n</aside>\n</note>\n<aside>\ny\n</aside>": [Open(Note), Inner(Note, "<aside>\n<note>\n</aside>\n"), Close(Note), Open(Aside), Inner(Aside, "y\n")]
            end: [Close(Aside)]
        "#]],
    );
}

#[test]
fn an_end_without_a_beginning_is_text() {
    check(
        &["</note>\nx"],
        &expect![[r#"
            "</note>\nx": [Text("</note>\nx")]
            end: []
        "#]],
    );
}

#[test]
fn a_text_that_ends_in_half_a_tag_ends_in_text() {
    check(
        &["<note>\nx\n</no"],
        &expect![[r#"
            "<note>\nx\n</no": [Open(Note), Inner(Note, "x\n")]
            end: [Inner(Note, "</no"), Close(Note)]
        "#]],
    );
}

#[test]
fn a_line_of_blanks_is_not_held_back_for_ever() {
    let blanks = " ".repeat(TAG_LINE_BYTES_MAX + 1);
    let mut reader = TagReader::new(TAGS);
    let mut out = Vec::new();
    reader.push(&blanks, &mut out);
    assert_eq!(out, [TagSegment::Text(blanks.clone())]);
    // It is no tag whole either, so it does not matter in which pieces it comes.
    let line = format!("{blanks}<note>\n");
    assert_eq!(
        read(TAGS, [line.as_str()]),
        [TagSegment::Text(line.clone())]
    );
}

/// Joins pieces of the same place: where a text was cut is not part of what it says.
fn joined(segments: Vec<TagSegment<Block>>) -> Vec<TagSegment<Block>> {
    let mut joined: Vec<TagSegment<Block>> = Vec::new();
    for segment in segments {
        match (joined.last_mut(), segment) {
            (Some(TagSegment::Text(before)), TagSegment::Text(text)) => before.push_str(&text),
            (Some(TagSegment::Inner(a, before)), TagSegment::Inner(b, text)) if *a == b => {
                before.push_str(&text);
            }
            (_, segment) => joined.push(segment),
        }
    }
    joined
}

/// Texts in which tags, halves of tags and lines that only look like one are common.
fn texts() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "<note>", "</note>", "<aside>", "</aside>", "<no", "te>", "</", "note>", "\n", "\n", "\n",
        "\r\n", " ", "\t", "word", "ä", "🦀", "<", ">",
    ]);
    prop::collection::vec(words, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_cut_of_a_text_says_the_same(text in texts(), cuts in prop::collection::vec(0usize..200, 0..12)) {
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| text.floor_char_boundary(cut)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]);
        prop_assert_eq!(joined(read(TAGS, chunks)), read(TAGS, [text.as_str()]));
    }

    #[test]
    fn letter_by_letter_says_the_same(text in texts()) {
        let mut buffer = [0; 4];
        let letters: Vec<String> = text.chars().map(|c| c.encode_utf8(&mut buffer).to_owned()).collect();
        let letters = letters.iter().map(String::as_str);
        prop_assert_eq!(joined(read(TAGS, letters)), read(TAGS, [text.as_str()]));
    }

    #[test]
    fn nothing_but_tag_lines_is_left_out(text in texts()) {
        let kept: String = read(TAGS, [text.as_str()])
            .into_iter()
            .filter_map(|segment| match segment {
                TagSegment::Text(text) | TagSegment::Inner(_, text) => Some(text),
                TagSegment::Open(_) | TagSegment::Close(_) => None,
            })
            .collect();
        let mut rest = kept.as_str();
        for line in text.split_inclusive('\n') {
            match rest.strip_prefix(line) {
                Some(after) => rest = after,
                None => prop_assert!(TAGS.iter().any(|tag| is_tag(line, tag.open) || is_tag(line, tag.close))),
            }
        }
        prop_assert_eq!(rest, "");
    }

    #[test]
    fn every_block_that_opens_is_closed(text in texts()) {
        let mut open = None;
        for segment in read(TAGS, [text.as_str()]) {
            match segment {
                TagSegment::Open(block) => prop_assert_eq!(open.replace(block), None),
                TagSegment::Close(block) => prop_assert_eq!(open.take(), Some(block)),
                TagSegment::Inner(block, _) => prop_assert_eq!(open, Some(block)),
                TagSegment::Text(_) => prop_assert_eq!(open, None),
            }
        }
        prop_assert_eq!(open, None);
    }
}
