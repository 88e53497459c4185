use expect_test::{Expect, expect};
use serde_json::{Value, json};
use troupe_config::KeyPath;

use super::{TableMerge, set};

const FILE: &str = "\
# my settings
model = \"one\" # the good one

[mcp_servers.ore]
command = \"ore\" # from the mine
args = [\"-v\"]
";

fn check(key: &str, value: Value, merge: TableMerge, expected: Expect) {
    let mut document = FILE.parse().unwrap();
    let key = KeyPath::parse(key).unwrap();
    match set(&mut document, &key, &value, merge) {
        Ok(()) => expected.assert_eq(&document.to_string()),
        Err(problem) => expected.assert_eq(&problem),
    }
}

#[test]
fn a_value_changes_and_the_comments_stay() {
    check(
        "model",
        json!("two"),
        TableMerge::Replace,
        expect![[r#"
            # my settings
            model = "two" # the good one

            [mcp_servers.ore]
            command = "ore" # from the mine
            args = ["-v"]
        "#]],
    );
}

#[test]
fn a_table_is_merged_or_replaced() {
    let new = json!({"command": "gold"});
    check(
        "mcp_servers.ore",
        new.clone(),
        TableMerge::Upsert,
        expect![[r#"
            # my settings
            model = "one" # the good one

            [mcp_servers.ore]
            command = "gold" # from the mine
            args = ["-v"]
        "#]],
    );
    check(
        "mcp_servers.ore",
        new,
        TableMerge::Replace,
        expect![[r#"
            # my settings
            model = "one" # the good one

            [mcp_servers.ore]
            command = "gold"
        "#]],
    );
}

#[test]
fn tables_on_the_way_are_made() {
    check(
        "projects.\"/a.b\".trust_level",
        json!("trusted"),
        TableMerge::Replace,
        expect![[r#"
            # my settings
            model = "one" # the good one

            [mcp_servers.ore]
            command = "ore" # from the mine
            args = ["-v"]

            [projects."/a.b"]
            trust_level = "trusted"
        "#]],
    );
}

#[test]
fn null_takes_a_key_away() {
    check(
        "mcp_servers.ore",
        json!(null),
        TableMerge::Replace,
        expect![[r#"
            # my settings
            model = "one" # the good one
        "#]],
    );
    check(
        "nothing.here",
        json!(null),
        TableMerge::Replace,
        expect![[r#"
        # my settings
        model = "one" # the good one

        [mcp_servers.ore]
        command = "ore" # from the mine
        args = ["-v"]
    "#]],
    );
}

#[test]
fn what_has_no_form_is_refused() {
    check(
        "model.name",
        json!("x"),
        TableMerge::Replace,
        expect!["model is not a table"],
    );
    check(
        "notify",
        json!(["a", null]),
        TableMerge::Replace,
        expect!["notify: null has no form in TOML"],
    );
    check(
        "retries",
        json!(u64::MAX),
        TableMerge::Replace,
        expect!["retries: 18446744073709551615 does not fit 64 bits"],
    );
}
