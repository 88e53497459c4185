//! `docs/protocol.md` names each op and event once, with a test that exists.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{assert_none, read};

const PAGE: &str = "docs/protocol.md";
const SCHEMA: &str = "crates/protocol/schema/troupe-protocol.schema.json";

struct Row {
    word: String,
    /// The crate, and the path of the test in it.
    test: (String, String),
}

#[test]
fn every_op_and_event_has_a_test() {
    let page = read(PAGE).expect("the page is checked in").text;
    let mut complaints = Vec::new();
    for (heading, name) in [("Ops", "Op"), ("Events", "EventMsg")] {
        let rows = rows(section(&page, heading));
        let mut seen = BTreeSet::new();
        for word in rows.iter().map(|row| &row.word) {
            if !seen.insert(word.clone()) {
                complaints.push(format!("{word} is named twice"));
            }
        }
        let known = words(name);
        let missing = known.difference(&seen);
        complaints.extend(missing.map(|word| format!("{word} is not named")));
        let unknown = seen.difference(&known);
        complaints.extend(unknown.map(|word| format!("there is no {word}")));
        complaints.extend(rows.iter().filter_map(|row| absent(&row.test)));
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

fn rows(section: &str) -> Vec<Row> {
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| `")?.split("` | `");
        let word = cells.next()?.to_owned();
        let test = cells.next()?.strip_suffix("` |")?;
        let (room, path) = test.split_once(' ')?;
        Some(Row {
            word,
            test: (room.to_owned(), path.to_owned()),
        })
    };
    section.lines().filter_map(row).collect()
}

/// Returns a complaint if there is no such test.
fn absent((room, path): &(String, String)) -> Option<String> {
    let (modules, name) = path.rsplit_once("::").unwrap_or(("", path));
    let file = format!("crates/{room}/tests/it/{}.rs", modules.replace("::", "/"));
    let text = read(&file).map(|file| file.text).unwrap_or_default();
    let is_there = text.contains(&format!("fn {name}("));
    (!is_there).then(|| format!("there is no test {name} in {file}"))
}
