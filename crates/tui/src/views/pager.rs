//! A long text: a transcript, a question in full, a diff, the keys, the status card.

use troupe_protocol::AgentId;

use super::questions::whole_rows;
use super::{about, band, filled, footer, status};
use crate::cells::{CellFold, diff_rows};
use crate::keys::{KEY_TABLE, KeyContext};
use crate::markdown::markdown_rows;
use crate::state::{AppState, PagerBody, PagerView, ScreenOverlay};
use crate::terminal::ScreenFrame;
use crate::text::{TextRow, TextStyle, wrap_text};

/// Rows of the screen that are no text: the title and the footer.
pub const PAGE: usize = 2;

pub fn frame(state: &AppState, pager: &PagerView) -> ScreenFrame {
    let columns = state.size.columns;
    let room = state.size.rows.saturating_sub(PAGE);
    let pages = PagerText::of(state, &pager.body);
    let (top, last) = place_of(pager, pages.height(columns), room);
    let left = TextRow::styled(&pager.title, TextStyle::BOLD);
    let right = match (pager.is_searching, last) {
        (true, _) => TextRow::plain(format!("/{}", pager.search)),
        (false, 0) => TextRow::new(),
        (false, last) => TextRow::dim(format!("{} %", top * 100 / last)),
    };
    let mut rows = vec![TextRow::justified(left, right, columns)];
    let shown = pages.slice(columns, top, room);
    rows.extend(shown.into_iter().map(|row| {
        if pager.search.is_empty() {
            row
        } else {
            marked(row, &pager.search)
        }
    }));
    let footer = match &pager.body {
        PagerBody::Question(_) => band::answer_keys(state),
        _ => footer(state, KeyContext::Pager),
    };
    ScreenFrame {
        rows: filled(rows, footer, state),
        cursor: None,
    }
}

/// Returns the first row that is shown and the last that can be, of the pager on top.
pub fn place(state: &AppState) -> (usize, usize) {
    let Some(ScreenOverlay::Pager(pager)) = state.overlays.last() else {
        return (0, 0);
    };
    let height = PagerText::of(state, &pager.body).height(state.size.columns);
    place_of(pager, height, state.size.rows.saturating_sub(PAGE))
}

/// Returns the next row below the first one that has what is searched for.
pub fn next_match(state: &AppState) -> Option<usize> {
    let Some(ScreenOverlay::Pager(pager)) = state.overlays.last() else {
        return None;
    };
    if pager.search.is_empty() {
        return None;
    }
    let columns = state.size.columns;
    let (top, _) = place(state);
    let wanted = pager.search.to_lowercase();
    let text = PagerText::of(state, &pager.body);
    let rows = text.slice(columns, top + 1, usize::MAX);
    let at = rows
        .iter()
        .position(|row| row.text().to_lowercase().contains(&wanted))?;
    Some(top + 1 + at)
}

/// Returns the cell of the first row that is shown.
pub fn top_cell(state: &AppState) -> Option<(AgentId, usize)> {
    let Some(ScreenOverlay::Pager(pager)) = state.overlays.last() else {
        return None;
    };
    let PagerBody::Transcript(agent) = pager.body else {
        return None;
    };
    let (top, _) = place(state);
    let mut above = 0;
    let cells = state.transcript_of(agent)?.cells();
    let number = cells.iter().position(|cell| {
        above += cell.height(state.size.columns, CellFold::Folded);
        above > top
    })?;
    Some((agent, number))
}

fn place_of(pager: &PagerView, height: usize, room: usize) -> (usize, usize) {
    let last = height.saturating_sub(room);
    (pager.top.unwrap_or(last).min(last), last)
}

fn marked(row: TextRow, search: &str) -> TextRow {
    if !row.text().to_lowercase().contains(&search.to_lowercase()) {
        return row;
    }
    let mut row = row;
    for span in &mut row.spans {
        span.style.reverse = span.text.to_lowercase().contains(&search.to_lowercase());
    }
    row
}

/// Text that is shown in parts. A transcript is laid out where it is looked at.
enum PagerText<'a> {
    Transcript(&'a AppState, AgentId),
    Rows(&'a AppState, &'a PagerBody),
}

impl<'a> PagerText<'a> {
    fn of(state: &'a AppState, body: &'a PagerBody) -> Self {
        match body {
            PagerBody::Transcript(agent) => Self::Transcript(state, *agent),
            body => Self::Rows(state, body),
        }
    }

    fn height(&self, columns: usize) -> usize {
        match self {
            Self::Transcript(state, agent) => {
                let Some(transcript) = state.transcript_of(*agent) else {
                    return 0;
                };
                let cells = transcript.cells().iter();
                let settled: usize = cells
                    .map(|cell| cell.height(columns, CellFold::Folded))
                    .sum();
                settled + transcript.live_rows(columns, state.now_ms).len()
            }
            Self::Rows(state, body) => body_rows(state, body, columns).len(),
        }
    }

    fn slice(&self, columns: usize, top: usize, count: usize) -> Vec<TextRow> {
        let (state, agent) = match self {
            Self::Transcript(state, agent) => (state, *agent),
            Self::Rows(state, body) => {
                let rows = body_rows(state, body, columns).into_iter();
                return rows.skip(top).take(count).collect();
            }
        };
        let Some(transcript) = state.transcript_of(agent) else {
            return Vec::new();
        };
        let mut rows = Vec::new();
        let mut skip = top;
        for cell in transcript.cells() {
            let height = cell.height(columns, CellFold::Folded);
            if skip >= height {
                skip -= height;
                continue;
            }
            rows.extend(cell.rows(columns, CellFold::Folded).into_iter().skip(skip));
            skip = 0;
            if rows.len() >= count {
                break;
            }
        }
        if rows.len() < count {
            rows.extend(
                transcript
                    .live_rows(columns, state.now_ms)
                    .into_iter()
                    .skip(skip),
            );
        }
        rows.truncate(count);
        rows
    }
}

fn body_rows(state: &AppState, body: &PagerBody, columns: usize) -> Vec<TextRow> {
    match body {
        PagerBody::Transcript(_) => Vec::new(),
        PagerBody::Question(id) => {
            let mut pending = state.questions.pending().iter();
            let question = pending.find(|question| question.id == *id);
            question
                .map(|question| whole_rows(question, columns))
                .unwrap_or_default()
        }
        PagerBody::About(agent) => about::rows(state, *agent, columns),
        PagerBody::Changes(agent) => about::change_rows(state, *agent, columns),
        PagerBody::Text(text) => wrap_text(text, TextStyle::PLAIN, columns),
        PagerBody::Markdown(text) => markdown_rows(text, columns),
        PagerBody::Diff(text) => {
            let mut rows = Vec::new();
            diff_rows(&mut rows, text, columns, CellFold::Whole);
            rows
        }
        PagerBody::Status => wrap_text(&status::card(state), TextStyle::PLAIN, columns),
        PagerBody::Help => help_rows(state, columns),
    }
}

fn help_rows(state: &AppState, columns: usize) -> Vec<TextRow> {
    let mut rows = Vec::new();
    for context in KeyContext::ALL {
        if !rows.is_empty() {
            rows.push(TextRow::new());
        }
        rows.push(TextRow::styled(context.heading(), TextStyle::BOLD));
        for (keys, help) in state.keymap.help(context) {
            let row = TextRow::plain(format!("{keys:<24} ")).with(help, TextStyle::DIM);
            rows.push(row.ellipsis(columns));
        }
    }
    rows.push(TextRow::new());
    rows.push(TextRow::styled("Commands", TextStyle::BOLD));
    for command in crate::commands::COMMANDS {
        let name = format!("/{} {}", command.name, command.argument);
        let key = KEY_TABLE
            .iter()
            .find(|row| row.slash.strip_prefix('/') == Some(command.name));
        let key = key.map(|row| format!("  {}", state.keymap.key_text(row.context, row.action)));
        let row = TextRow::plain(format!("{name:<24} "))
            .with(command.help, TextStyle::DIM)
            .with(key.unwrap_or_default(), TextStyle::DIM);
        rows.push(row.ellipsis(columns));
    }
    rows
}
