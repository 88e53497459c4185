//! A long text: a transcript, a question in full, a diff, the keys, the status card.

use troupe_protocol::AgentId;

mod text;

pub use text::TextPlace;

use self::text::PagerText;
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
    let room = room(state);
    let text = text_of(state, &pager.body);
    let (top, last) = place_of(pager, &text, room);
    let left = TextRow::styled(&pager.title, TextStyle::BOLD);
    let right = if pager.is_searching {
        TextRow::plain(format!("/{}", pager.search))
    } else if last == TextPlace::default() {
        TextRow::new()
    } else {
        TextRow::dim(format!("{} %", top.percent_of(last)))
    };
    let mut rows = vec![TextRow::justified(left, right, columns)];
    rows.extend(text.slice(top, room).into_iter().map(|row| {
        if pager.search.is_empty() {
            row
        } else {
            marked(row, &pager.search)
        }
    }));
    let footer = match (&state.toast, &pager.body) {
        (Some(toast), _) => TextRow::styled(&toast.text, TextStyle::BOLD).ellipsis(columns),
        (None, PagerBody::Question(_)) => band::answer_keys(state),
        (None, _) => footer(state, KeyContext::Pager),
    };
    ScreenFrame {
        rows: filled(rows, footer, state),
        cursor: None,
    }
}

fn room(state: &AppState) -> usize {
    state.size.rows.saturating_sub(PAGE)
}

/// Returns where the pager on top is after so many rows; `None` for the end.
pub fn scrolled(state: &AppState, rows: i64) -> Option<TextPlace> {
    let pager = pager_on_top(state)?;
    let text = text_of(state, &pager.body);
    let (top, last) = place_of(pager, &text, room(state));
    Some(text.moved(top, rows)).filter(|place| *place < last)
}

/// Tells whether the last row of what the pager on top shows is on the screen.
pub fn shows_end(state: &AppState) -> bool {
    scrolled(state, 0).is_none()
}

/// Returns the next row below the first one that has what is searched for.
pub fn next_match(state: &AppState) -> Option<TextPlace> {
    let pager = pager_on_top(state).filter(|pager| !pager.search.is_empty())?;
    let text = text_of(state, &pager.body);
    let (top, _) = place_of(pager, &text, room(state));
    text.find(top, &pager.search)
}

/// Returns the first cell on the screen that has more than is shown, or that was unfolded.
pub fn foldable_cell(state: &AppState) -> Option<(AgentId, usize)> {
    let pager = pager_on_top(state)?;
    let PagerBody::Transcript(agent) = pager.body else {
        return None;
    };
    let text = text_of(state, &pager.body);
    let (top, _) = place_of(pager, &text, room(state));
    let end = text.moved(top, i64::try_from(room(state)).unwrap_or(i64::MAX));
    let cells = state.transcript_of(agent)?.cells().iter().enumerate();
    let mut shown = cells.take(end.cell + 1).skip(top.cell);
    let found = shown.find(|(_, cell)| cell.is_foldable(state.size.columns));
    found.map(|(number, _)| (agent, number))
}

fn pager_on_top(state: &AppState) -> Option<&PagerView> {
    match state.overlays.last() {
        Some(ScreenOverlay::Pager(pager)) => Some(pager),
        _ => None,
    }
}

fn place_of(pager: &PagerView, text: &PagerText<'_>, room: usize) -> (TextPlace, TextPlace) {
    let last = text.last_place(room);
    (pager.top.unwrap_or(last).min(last), last)
}

fn text_of<'a>(state: &'a AppState, body: &PagerBody) -> PagerText<'a> {
    let columns = state.size.columns;
    match body {
        PagerBody::Transcript(agent) => match state.transcript_of(*agent) {
            Some(transcript) => PagerText::of_transcript(transcript, columns, state.now_ms),
            None => PagerText::of_rows(Vec::new(), columns),
        },
        body => PagerText::of_rows(body_rows(state, body, columns), columns),
    }
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
