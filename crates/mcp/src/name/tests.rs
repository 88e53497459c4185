use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::names;

fn check(tools: &[(&str, &str)], expected: Expect) {
    expected.assert_eq(&names(tools).join("\n"));
}

#[test]
fn a_name_says_where_the_tool_comes_from() {
    check(&[("files", "read")], expect!["mcp__files__read"]);
}

#[test]
fn what_providers_do_not_take_is_replaced() {
    check(
        &[("my server", "get.weather"), ("ü", "🦀")],
        expect![[r#"
            mcp__my_server__get_weather
            mcp______"#]],
    );
}

#[test]
fn names_that_would_be_alike_are_marked_both() {
    check(
        &[("a", "b.c"), ("a", "b c"), ("a", "d")],
        expect![[r#"
        mcp__a__b_c_ad8a94ab
        mcp__a__b_c_fa1e0a6a
        mcp__a__d"#]],
    );
}

#[test]
fn a_long_name_is_cut() {
    check(
        &[("server", &"tool".repeat(30))],
        expect!["mcp__server__tooltooltooltooltooltooltooltooltooltoolto_07bae2d3"],
    );
}

proptest! {
    #[test]
    fn every_set_of_tools_has_names_that_providers_take(
        tools in proptest::collection::btree_set((".{0,40}", ".{0,80}"), 0..20),
    ) {
        let tools: Vec<(&str, &str)> = tools.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let names = names(&tools);
        let distinct: BTreeSet<&String> = names.iter().collect();
        prop_assert_eq!(distinct.len(), tools.len());
        for name in &names {
            prop_assert!(name.len() <= 64 && name.is_ascii());
            prop_assert!(!name.contains(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-'));
        }
    }
}
