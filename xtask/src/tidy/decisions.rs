//! Entries of `docs/decisions/`, which all have the same parts.

use super::tables::is_there;
use super::{SourceFile, assert_none, repository_files};

const FOLDER: &str = "docs/decisions/";

/// In this order. "Replaced by" may stand before the test.
const PARTS: [&str; 4] = ["Context", "Decision", "Rejected", "Test"];

#[test]
fn decisions_have_their_parts() {
    let complaints: Vec<String> = files()
        .iter()
        .flat_map(|file| entries(file).into_iter().flat_map(complaints))
        .collect();
    assert_none(
        &complaints,
        "docs/decisions/README.md has the form of an entry",
    );
}

#[test]
fn every_file_of_decisions_is_in_the_list() {
    let list = super::read("docs/decisions/README.md").map_or_else(String::new, |file| file.text);
    let complaints: Vec<String> = files()
        .into_iter()
        .filter_map(|file| Some(file.path.strip_prefix(FOLDER)?.to_owned()))
        .filter(|name| !list.contains(&format!("({name})")))
        .collect();
    assert_none(
        &complaints,
        "add a row for the file to the table in docs/decisions/README.md",
    );
}

fn files() -> Vec<SourceFile> {
    let mut files = repository_files();
    files.retain(|file| file.path.starts_with(FOLDER) && file.path != "docs/decisions/README.md");
    files
}

struct DecisionEntry {
    place: String,
    lines: Vec<String>,
}

fn entries(file: &SourceFile) -> Vec<DecisionEntry> {
    let sections = file.text.split("\n## ").skip(1);
    let entry = |section: &str| {
        let mut lines = section.lines().map(str::to_owned);
        DecisionEntry {
            place: format!("{}: {}", file.path, lines.next().unwrap_or_default()),
            lines: lines.filter(|line| !line.is_empty()).collect(),
        }
    };
    sections.map(entry).collect()
}

fn complaints(entry: DecisionEntry) -> Vec<String> {
    let DecisionEntry { place, lines } = entry;
    let mut complaints = Vec::new();
    if !lines.first().is_some_and(|line| is_date(line)) {
        complaints.push(format!("{place}: the date is missing below the title"));
    }
    let part = |line: &String| {
        let (name, text) = line.strip_prefix("- **")?.split_once("**: ")?;
        Some((name.to_owned(), text.to_owned()))
    };
    let mut parts: Vec<(String, String)> = lines.iter().filter_map(part).collect();
    parts.retain(|(name, _)| name != "Replaced by");
    let names: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).collect();
    if names != PARTS {
        complaints.push(format!("{place}: has {}", names.join(", ")));
    }
    let test = parts.iter().find(|(name, _)| name == "Test");
    complaints.extend(test.and_then(|(_, text)| missing_test(text, &place)));
    complaints
}

/// Returns a complaint for a line that names no test and does not say that there is none.
fn missing_test(text: &str, place: &str) -> Option<String> {
    if text.starts_with("none") {
        return None;
    }
    let named: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
    let absent = |test: &&&str| !is_there(&format!("`{test}`")).unwrap_or(false);
    match named.iter().find(absent) {
        Some(test) => Some(format!("{place}: there is no test {test}")),
        None if named.is_empty() => Some(format!("{place}: names no test")),
        None => None,
    }
}

fn is_date(line: &str) -> bool {
    let digits = |part: &str, length| part.len() == length && part.parse::<u16>().is_ok();
    let parts: Vec<&str> = line.split('-').collect();
    matches!(parts[..], [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
}
