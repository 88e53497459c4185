//! A command that was run, with the end of its output.

use troupe_protocol::command::{CommandSource, WorkStatus};
use troupe_protocol::item::CommandExecutionItem;

use super::CellFold;
use crate::limits::FOLDED_LINES;
use crate::text::ansi::AnsiReader;
use crate::text::quantity::duration_text;
use crate::text::wrap::{WrapMode, wrap_into};
use crate::text::{Indent, Ink, TextRow, TextSpan, TextStyle};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandCell {
    /// As a person would type it.
    pub command: String,
    pub source: CommandSource,
    pub status: WorkStatus,
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    pub output: String,
}

impl CommandCell {
    pub fn of(item: &CommandExecutionItem) -> Self {
        let outcome = item.outcome.as_ref();
        Self {
            command: command_line(&item.command),
            source: item.source,
            status: item.status,
            exit_code: outcome.and_then(|outcome| outcome.exit_code),
            duration_ms: outcome.map_or(0, |outcome| outcome.duration_ms),
            output: outcome
                .map(|outcome| outcome.aggregated_output.clone())
                .unwrap_or_default(),
        }
    }

    fn verb(&self) -> &'static str {
        match (self.status, self.source) {
            (WorkStatus::Declined, _) => "Not run",
            (WorkStatus::InProgress, _) => "Runs on",
            (_, CommandSource::UserShell) => "You ran",
            (_, CommandSource::UnifiedExecInteraction) => "Typed into",
            (_, CommandSource::Agent | CommandSource::UnifiedExecStartup) => "Ran",
        }
    }

    fn verdict(&self) -> TextSpan {
        let (text, style) = match (self.status, self.exit_code) {
            (WorkStatus::Declined, _) => ("✗ not allowed".to_owned(), TextStyle::ink(Ink::Red)),
            (WorkStatus::InProgress, _) => ("● in the background".to_owned(), TextStyle::DIM),
            (_, Some(0)) => (
                format!("✓ {}", duration_text(self.duration_ms)),
                TextStyle::ink(Ink::Green),
            ),
            (_, Some(code)) => (
                format!("✗ exit {code}  {}", duration_text(self.duration_ms)),
                TextStyle::ink(Ink::Red),
            ),
            (WorkStatus::Completed, None) => ("✓".to_owned(), TextStyle::ink(Ink::Green)),
            (WorkStatus::Failed, None) => ("✗ ended".to_owned(), TextStyle::ink(Ink::Red)),
        };
        TextSpan::new(text, style)
    }

    pub(super) fn rows(&self, columns: usize, fold: CellFold) -> Vec<TextRow> {
        let mut rows = head_rows(
            self.verb(),
            &self.command,
            Some(self.verdict()),
            columns,
            fold,
        );
        let lines: Vec<&str> = self.output.lines().collect();
        let shown = match fold {
            CellFold::Folded => lines.len().min(FOLDED_LINES),
            CellFold::Whole => lines.len(),
        };
        let hidden = lines.len() - shown;
        if hidden > 0 {
            rows.push(TextRow::dim(format!("… {hidden} lines above")).cut(columns));
        }
        let mut reader = AnsiReader::default();
        for line in &lines[hidden..] {
            output_rows(&mut rows, &mut reader, line, columns, fold);
        }
        rows
    }

    pub(super) fn source(&self) -> String {
        format!("$ {}\n{}", self.command, self.output)
    }
}

/// Returns the row that names a command; the whole of it where it is not folded.
pub fn head_rows(
    verb: &str,
    command: &str,
    verdict: Option<TextSpan>,
    columns: usize,
    fold: CellFold,
) -> Vec<TextRow> {
    let first = command.lines().next().unwrap_or_default();
    let row = TextRow::new()
        .with("• ", TextStyle::DIM)
        .with(format!("{verb} "), TextStyle::BOLD)
        .with(first, TextStyle::PLAIN);
    let more = command.lines().nth(1).is_some();
    let row = if more {
        row.with(" …", TextStyle::DIM)
    } else {
        row
    };
    let verdict = verdict.map(|span| TextRow {
        spans: vec![span],
        ..TextRow::new()
    });
    let fits = row.width() + verdict.as_ref().map_or(0, |row| row.width() + 2) <= columns;
    let mut rows = match (fold, verdict) {
        (CellFold::Whole, verdict) if !fits || more => {
            let mut rows = Vec::new();
            let mut indent = Indent::mark("• ", TextStyle::DIM);
            for (number, line) in command.lines().enumerate() {
                let mut spans = Vec::new();
                if number == 0 {
                    spans.push(TextSpan::new(format!("{verb} "), TextStyle::BOLD));
                }
                spans.push(TextSpan::new(line, TextStyle::PLAIN));
                wrap_into(&mut rows, &spans, &indent, columns, WrapMode::Letters);
                indent.first.clone_from(&indent.rest);
            }
            rows.extend(verdict);
            return rows;
        }
        (_, Some(verdict)) => {
            let room = columns.saturating_sub(verdict.width() + 2);
            let mut row = row.ellipsis(room);
            row.push("  ", TextStyle::PLAIN);
            row.append(verdict);
            vec![row.cut(columns)]
        }
        (_, None) => vec![row.ellipsis(columns)],
    };
    rows.truncate(1);
    rows
}

/// Adds a line of output; a folded one takes one row.
pub fn output_rows(
    rows: &mut Vec<TextRow>,
    reader: &mut AnsiReader,
    line: &str,
    columns: usize,
    fold: CellFold,
) {
    // A line of a megabyte is not read to show its first row.
    let line = match fold {
        CellFold::Folded => beginning(line, columns * 8),
        CellFold::Whole => line,
    };
    let spans: Vec<TextSpan> = reader.line(line).into_iter().map(dimmed).collect();
    match fold {
        CellFold::Folded => rows.push(
            TextRow {
                spans,
                ..TextRow::new()
            }
            .ellipsis(columns),
        ),
        CellFold::Whole => {
            wrap_into(rows, &spans, &Indent::default(), columns, WrapMode::Letters);
        }
    }
}

fn dimmed(mut span: TextSpan) -> TextSpan {
    span.style.dim = span.style.ink.is_none();
    span
}

fn beginning(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the words of a command as one would type them; what a shell is given as a script is
/// the script.
pub fn command_line(words: &[String]) -> String {
    if let [shell, flag, script] = words
        && ["bash", "sh", "zsh"]
            .iter()
            .any(|name| shell.ends_with(name))
        && matches!(flag.as_str(), "-c" | "-lc")
    {
        return script.clone();
    }
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    let quoted = |word: &String| {
        if !word.is_empty() && word.chars().all(is_plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let words: Vec<String> = words.iter().map(quoted).collect();
    words.join(" ")
}
