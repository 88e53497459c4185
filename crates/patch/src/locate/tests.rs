use super::*;
use crate::text::FileText;

/// Finds the pattern (lines separated by `|`) and compares `at`, what was forgiven, `other`.
fn check(
    content: &str,
    pattern: &str,
    from: usize,
    expected: Option<(usize, MatchTolerance, Option<usize>)>,
) {
    let content = content.replace('|', "\n");
    let pattern: Vec<&str> = pattern.split('|').collect();
    let found = find(&FileText::new(&content).lines, &pattern, from);
    let found = found.map(|found| (found.at, found.forgiven, found.other));
    assert_eq!(found, expected, "{pattern:?} in {content:?}");
}

#[test]
fn the_strictest_comparison_that_matches_anywhere_wins() {
    use MatchTolerance::{Nothing, OuterBlanks, TrailingBlanks, Typography};
    check("a|b|c", "b|c", 0, Some((1, Nothing, None)));
    check("b |a|b", "b", 0, Some((2, Nothing, None)));
    check("a|b  |c", "b", 0, Some((1, TrailingBlanks, None)));
    check("a|  b|c", "b|c", 0, Some((1, OuterBlanks, None)));
    check("“x” – y", "\"x\" - y", 0, Some((0, Typography, None)));
    check("a\u{a0}b", "a b", 0, Some((0, Typography, None)));
    check("a|b", "c", 0, None);
    check("a|b", "a|b|c", 0, None);
}

#[test]
fn the_search_starts_at_the_cursor_and_names_the_next_match() {
    use MatchTolerance::Nothing;
    check("a|x|a|y|a", "a", 0, Some((0, Nothing, Some(2))));
    check("a|x|a|y|a", "a", 1, Some((2, Nothing, Some(4))));
    check("a|x|a|y|a", "a", 3, Some((4, Nothing, None)));
    check("a|x", "a", 1, None);
    check("a|a|a|b", "a|a|b", 0, Some((1, Nothing, None)));
    check("a|a|a", "a|a", 0, Some((0, Nothing, Some(1))));
    check("a|b|a|b|a|c", "a|b|a|c", 0, Some((2, Nothing, None)));
}

#[test]
fn the_nearest_place_is_the_longest_beginning() {
    let content = "a\nx\na\nb\ny\n";
    let lines = FileText::new(content).lines;
    assert_eq!(nearest(&lines, &["a", "b", "c"]), Some((2, 2)));
    assert_eq!(nearest(&lines, &["x"]), Some((1, 1)));
    assert_eq!(nearest(&lines, &["q"]), None);
}

#[test]
fn equal_lines_do_not_make_the_search_quadratic() {
    let content = "same\n".repeat(200_000);
    let lines = FileText::new(&content).lines;
    let mut pattern = vec!["same"; 50_000];
    pattern.push("other");
    // The obvious search would compare ten thousand million lines.
    assert_eq!(find(&lines, &pattern, 0), None);
}
