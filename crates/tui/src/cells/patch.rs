//! Files that were changed, with the difference.

use std::fmt::Write as _;

use troupe_protocol::command::{FileChange, FileChanges, WorkStatus};

use super::CellFold;
use crate::highlight::diff_style;
use crate::limits::PATCH_LINES_FOLDED;
use crate::text::wrap::{WrapMode, wrap_into};
use crate::text::{Indent, Ink, TextRow, TextSpan, TextStyle};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchCell {
    pub changes: FileChanges,
    pub status: WorkStatus,
    /// Why it failed.
    pub trouble: String,
}

impl PatchCell {
    pub(super) fn rows(&self, columns: usize, fold: CellFold) -> Vec<TextRow> {
        let mut rows = Vec::new();
        let (word, style) = match self.status {
            WorkStatus::InProgress => ("Edits", TextStyle::BOLD),
            WorkStatus::Completed => ("Edited", TextStyle::BOLD),
            WorkStatus::Failed => ("Could not edit", TextStyle::ink(Ink::Red)),
            WorkStatus::Declined => ("Did not edit", TextStyle::ink(Ink::Red)),
        };
        for (path, change) in &self.changes {
            let (added, removed) = counted(change);
            let head = TextRow::new()
                .with("• ", TextStyle::DIM)
                .with(format!("{word} "), style)
                .with(head_of(path, change), TextStyle::PLAIN);
            let counts = TextRow::new()
                .with(format!("+{added} "), TextStyle::ink(Ink::Green))
                .with(format!("-{removed}"), TextStyle::ink(Ink::Red));
            let room = columns.saturating_sub(counts.width() + 2);
            let mut head = head.ellipsis(room);
            head.push("  ", TextStyle::PLAIN);
            head.append(counts);
            rows.push(head.cut(columns));
            diff_rows(&mut rows, &diff_text(change), columns, fold);
        }
        for line in self.trouble.lines().filter(|line| !line.is_empty()) {
            let span = [TextSpan::new(line, TextStyle::ink(Ink::Red))];
            wrap_into(
                &mut rows,
                &span,
                &Indent::default(),
                columns,
                WrapMode::Words,
            );
        }
        rows
    }

    pub(super) fn source(&self) -> String {
        let mut text = String::new();
        for (path, change) in &self.changes {
            writeln!(text, "{}\n{}", head_of(path, change), diff_text(change))
                .expect("a String takes any text");
        }
        text
    }
}

fn head_of(path: &std::path::Path, change: &FileChange) -> String {
    let path = path.display();
    match change {
        FileChange::Add { .. } => format!("{path} (new)"),
        FileChange::Delete { .. } => format!("{path} (deleted)"),
        FileChange::Update {
            move_path: Some(to),
            ..
        } => format!("{path} → {}", to.display()),
        FileChange::Update {
            move_path: None, ..
        } => path.to_string(),
    }
}

/// Returns the lines that were added and removed.
pub fn counted(change: &FileChange) -> (usize, usize) {
    match change {
        FileChange::Add { content } => (content.lines().count(), 0),
        FileChange::Delete { content } => (0, content.lines().count()),
        FileChange::Update { unified_diff, .. } => {
            let begins = |mark: char| {
                let lines = unified_diff.lines();
                let marked = lines.filter(|line| line.starts_with(mark));
                marked
                    .filter(|line| !line.starts_with("+++") && !line.starts_with("---"))
                    .count()
            };
            (begins('+'), begins('-'))
        }
    }
}

fn diff_text(change: &FileChange) -> String {
    let marked = |mark: char, content: &str| -> String {
        let lines: Vec<String> = content
            .lines()
            .map(|line| format!("{mark}{line}"))
            .collect();
        lines.join("\n")
    };
    match change {
        FileChange::Add { content } => marked('+', content),
        FileChange::Delete { content } => marked('-', content),
        FileChange::Update { unified_diff, .. } => unified_diff.trim_end().to_owned(),
    }
}

/// Adds the lines of a unified diff, coloured by what they are.
pub fn diff_rows(rows: &mut Vec<TextRow>, diff: &str, columns: usize, fold: CellFold) {
    let count = diff.lines().count();
    let shown = match fold {
        CellFold::Folded => PATCH_LINES_FOLDED.min(count),
        CellFold::Whole => count,
    };
    for line in diff.lines().take(shown) {
        let span = [TextSpan::new(line, diff_style(line))];
        wrap_into(rows, &span, &Indent::default(), columns, WrapMode::Letters);
    }
    if count > shown {
        rows.push(TextRow::dim(format!("… {} lines below", count - shown)).cut(columns));
    }
}
