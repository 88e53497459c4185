use expect_test::{Expect, expect};
use regex::bytes::RegexBuilder;

use super::hits::{GrepHits, HitCapacity};

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";

fn check(pattern: &str, context: usize, matches_max: usize, text: &str, expect: Expect) {
    let regex = RegexBuilder::new(pattern)
        .multi_line(true)
        .crlf(true)
        .build()
        .unwrap();
    let mut hits = GrepHits::new(matches_max, 10_000, context);
    let room = hits.search(&regex, "f", text.as_bytes());
    let mut shown = hits.into_text();
    if room == HitCapacity::Full {
        shown.push_str("full\n");
    }
    expect.assert_eq(&shown);
}

#[test]
fn matching_lines_once_each() {
    check("t|e", 0, 9, "tete\nno\ne\r\n", expect!["f:1:tete\nf:3:e\n"]);
    check("^$", 0, 9, "a\n\nb\n", expect!["f:2:\n"]);
    check("$", 0, 9, "a\nb", expect!["f:1:a\nf:2:b\n"]);
    check("x*", 0, 9, "", expect![""]);
    check("absent", 0, 9, TEXT, expect![""]);
}

#[test]
fn lines_around_a_match_are_shown_once() {
    check(
        "three|five",
        1,
        9,
        TEXT,
        expect![[r"
        f-2-two
        f:3:three
        f-4-four
        f:5:five
        f-6-six
    "]],
    );
    check(
        "one|eight",
        1,
        9,
        TEXT,
        expect![[r"
        f:1:one
        f-2-two
        --
        f-7-seven
        f:8:eight
    "]],
    );
}

#[test]
fn the_bound_is_told_only_when_there_is_more() {
    check("one|two", 0, 2, TEXT, expect!["f:1:one\nf:2:two\n"]);
    check(
        "one|two|six",
        0,
        2,
        TEXT,
        expect!["f:1:one\nf:2:two\nfull\n"],
    );
}
