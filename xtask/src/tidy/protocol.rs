//! `docs/protocol.md` names each op and event once, with a test that exists.

use std::collections::BTreeSet;

use serde_json::Value;

use super::tables::{Row, rows};
use super::{assert_none, read};

const PAGE: &str = "docs/protocol.md";
const SCHEMA: &str = "crates/protocol/schema/troupe-protocol.schema.json";

#[test]
fn every_op_and_event_has_a_test() {
    let page = read(PAGE).expect("the page is checked in").text;
    let mut complaints = Vec::new();
    for (heading, name) in [("Ops", "Op"), ("Events", "EventMsg")] {
        let rows = rows(section(&page, heading));
        let mut seen = BTreeSet::new();
        for row in &rows {
            let word = row.first.trim_matches('`');
            if !seen.insert(word.to_owned()) {
                complaints.push(format!("{word} is named twice"));
            }
        }
        let known = words(name);
        let missing = known.difference(&seen);
        complaints.extend(missing.map(|word| format!("{word} is not named")));
        let unknown = seen.difference(&known);
        complaints.extend(unknown.map(|word| format!("there is no {word}")));
        complaints.extend(rows.iter().flat_map(Row::complaints));
    }
    assert_none(
        &complaints,
        "mend docs/protocol.md; a new word comes with a test that provokes it and looks at \
         the rollout and at the session after a resume",
    );
}

/// Returns the tags of an enum, as the schema has them.
fn words(name: &str) -> BTreeSet<String> {
    let schema = read(SCHEMA).expect("the schema is checked in").text;
    let schema: Value = serde_json::from_str(&schema).expect("a schema is JSON");
    let variants = schema["$defs"][name]["oneOf"].as_array();
    let variants = variants.expect("the enum has variants").iter();
    let tag = |variant: &Value| {
        variant["properties"]["type"]["const"]
            .as_str()
            .map(str::to_owned)
    };
    variants.filter_map(tag).collect()
}

fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let start = format!("## {heading}\n");
    let body = page.split_once(&start).map_or("", |(_, body)| body);
    body.split_once("\n## ").map_or(body, |(body, _)| body)
}
