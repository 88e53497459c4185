//! A call of a tool that has no cell of its own.

use serde_json::Value;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::item::{McpToolCallItem, ToolCallItem};

use super::{CellFold, call_words};
use crate::limits::FOLDED_LINES;
use crate::text::ansi::AnsiReader;
use crate::text::{Ink, TextRow, TextSpan, TextStyle};

use super::command::{head_rows, output_rows};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCell {
    pub tool: String,
    /// The arguments in one line.
    pub arguments: String,
    pub status: WorkStatus,
    pub output: String,
}

impl ToolCell {
    pub fn of(item: &ToolCallItem) -> Self {
        let words = call_words(&item.tool, &item.arguments);
        Self {
            tool: words.ran.to_owned(),
            arguments: words.about,
            status: item.status,
            output: item.output.clone().unwrap_or_default(),
        }
    }

    pub fn of_mcp(item: &McpToolCallItem) -> Self {
        let result = item.result.as_ref().map(result_text);
        Self {
            tool: format!("{}/{}", item.server, item.tool),
            arguments: arguments_text(&item.arguments),
            status: item.status,
            output: item.error.clone().or(result).unwrap_or_default(),
        }
    }

    pub(super) fn rows(&self, columns: usize, fold: CellFold) -> Vec<TextRow> {
        let verdict = match self.status {
            WorkStatus::InProgress => None,
            WorkStatus::Completed => Some(TextSpan::new("✓", TextStyle::ink(Ink::Green))),
            WorkStatus::Failed => Some(TextSpan::new("✗", TextStyle::ink(Ink::Red))),
            WorkStatus::Declined => Some(TextSpan::new("✗ not allowed", TextStyle::ink(Ink::Red))),
        };
        let mut rows = head_rows(&self.tool, &self.arguments, verdict, columns, fold);
        let lines = match (fold, self.status) {
            (CellFold::Whole, _) => usize::MAX,
            // What went wrong is worth a look.
            (CellFold::Folded, WorkStatus::Failed) => FOLDED_LINES,
            (CellFold::Folded, _) => 0,
        };
        let mut reader = AnsiReader::default();
        for line in self.output.lines().take(lines) {
            output_rows(&mut rows, &mut reader, line, columns, fold);
        }
        rows
    }

    pub(super) fn source(&self) -> String {
        format!("{} {}\n{}", self.tool, self.arguments, self.output)
    }
}

/// Returns `key: value` pairs in one line, texts without quotes.
pub fn arguments_text(arguments: &Value) -> String {
    let short = |value: &Value| match value {
        Value::String(text) => text.lines().next().unwrap_or_default().to_owned(),
        other => other.to_string(),
    };
    match arguments {
        Value::Null => String::new(),
        Value::Object(map) => {
            let pairs = map
                .iter()
                .map(|(key, value)| format!("{key}: {}", short(value)));
            pairs.collect::<Vec<_>>().join(", ")
        }
        other => short(other),
    }
}

/// Returns the texts of a server's answer; the JSON if it has none.
fn result_text(result: &Value) -> String {
    let content = result.get("content").and_then(Value::as_array);
    let texts: Vec<&str> = content
        .into_iter()
        .flatten()
        .filter_map(|part| part.get("text").and_then(Value::as_str))
        .collect();
    if texts.is_empty() {
        result.to_string()
    } else {
        texts.join("\n")
    }
}
