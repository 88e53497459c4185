//! `docs/contract.md` names for each statement tests that exist.

use std::collections::BTreeSet;

use super::tables::rows;
use super::{assert_none, read};

#[test]
fn every_statement_about_agents_has_a_test() {
    let page = read("docs/contract.md")
        .expect("the page is checked in")
        .text;
    let rows = rows(&page);
    let lines = page.lines().filter(|line| line.starts_with('|')).count();
    let heads = page.lines().filter(|line| *line == "|---|---|").count();
    assert_eq!(
        rows.len() + 2 * heads,
        lines,
        "each line of a table is read"
    );
    let mut complaints = Vec::new();
    let mut seen = BTreeSet::new();
    for row in &rows {
        if !seen.insert(&row.first) {
            complaints.push(format!("{} is stated twice", row.first));
        }
        complaints.extend(row.complaints());
    }
    assert_none(
        &complaints,
        "mend docs/contract.md; a test that was renamed is named anew, and a statement that no \
         test shows gets one",
    );
}
