//! The table of `troupe sessions list`.

use std::path::Path;

use troupe_protocol::text::one_line;
use troupe_store::{SessionSummary, SourceKind};
use unicode_width::UnicodeWidthStr as _;

use super::show::local_time;
use crate::limits::NAME_COLUMNS_MAX;
use crate::limits::TITLE_CHARS_MAX;
use crate::terminal;

/// A session with what its own line in the index does not say.
#[derive(Debug)]
pub struct ListedSession {
    pub summary: SessionSummary,
    /// Those below it.
    pub agents: usize,
}

/// Where the reader stands, from which directories are named.
#[derive(Debug, Clone, Copy)]
pub struct ReaderLocation<'a> {
    pub here: &'a Path,
    pub user_home: Option<&'a Path>,
}

/// Returns one line for each session, cut where it would be wider than the terminal.
pub fn table(
    sessions: &[ListedSession],
    from: ReaderLocation<'_>,
    columns: Option<usize>,
) -> String {
    let cells: Vec<[String; 4]> = sessions.iter().map(|it| cells(it, from)).collect();
    let widest = |column: usize| {
        let widths = cells.iter().map(|row| row[column].width());
        widths.max().unwrap_or(0)
    };
    let widths = [widest(0), widest(1), widest(2), widest(3)];
    let mut text = String::new();
    for (session, cells) in sessions.iter().zip(&cells) {
        let mut line = format!(
            "{}  {}  {:<4}",
            session.summary.id.short(),
            local_time(session.summary.updated),
            SourceKind::from(&session.summary.source).as_str(),
        );
        for (cell, width) in cells.iter().zip(widths) {
            let pad = " ".repeat(width - cell.width());
            line.extend(["  ", cell, &pad]);
        }
        line.push_str("  ");
        line.push_str(&title(&session.summary));
        let line = terminal::harmless(line.trim_end());
        match columns {
            Some(columns) => text.push_str(&terminal::fitted(&line, columns)),
            None => text.push_str(&line),
        }
        text.push('\n');
    }
    text
}

/// Directory, model, tokens, agents.
fn cells(session: &ListedSession, from: ReaderLocation<'_>) -> [String; 4] {
    let summary = &session.summary;
    let model = summary.model.as_deref().unwrap_or("-");
    [
        directory(&summary.cwd, from),
        one_line(model, NAME_COLUMNS_MAX),
        tokens(summary.tokens),
        match session.agents {
            0 => String::new(),
            1 => "1 agent".to_owned(),
            agents => format!("{agents} agents"),
        },
    ]
}

/// Of a long path the end is what tells it from others.
fn directory(path: &Path, from: ReaderLocation<'_>) -> String {
    if path == from.here {
        return ".".to_owned();
    }
    let below_home = from.user_home.and_then(|home| path.strip_prefix(home).ok());
    let shown = match below_home {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    };
    let letters = shown.chars().count();
    match letters.checked_sub(NAME_COLUMNS_MAX) {
        None | Some(0) => shown,
        Some(over) => format!("…{}", shown.chars().skip(over + 1).collect::<String>()),
    }
}

fn tokens(number: u64) -> String {
    match number {
        0 => "-".to_owned(),
        1..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
    }
}

fn title(summary: &SessionSummary) -> String {
    let title = summary.name.as_deref().or(summary.preview.as_deref());
    let mut text = one_line(title.unwrap_or("(empty)"), TITLE_CHARS_MAX);
    if let Some(source) = summary.forked_from {
        text.extend([" (fork of ", &source.short(), ")"]);
    }
    if let Some(note) = summary.note.as_deref().filter(|note| !note.is_empty()) {
        text.extend(["  (", &one_line(note, TITLE_CHARS_MAX), ")"]);
    }
    text
}
