//! The state as rows. One file for each thing that is seen.

pub mod about;
pub mod agent;
pub mod agents;
pub mod band;
pub mod conversation;
pub mod inbox;
pub mod line;
pub mod pager;
pub mod peek;
pub mod picker;
pub mod plain;
pub mod questions;
pub mod result;
pub mod spawn;
pub mod status;
pub mod stop;

use crate::keys::{KeyContext, KeyMap};
use crate::state::{AppState, ScreenOverlay};
use crate::terminal::{ScreenFrame, ScreenSize};
use crate::text::{TextRow, TextStyle, text_width};

/// Returns what is to be seen: the whole screen, or the viewport below the history.
pub fn view(state: &AppState) -> ScreenFrame {
    let overlay = state
        .overlays
        .iter()
        .rev()
        .find(|overlay| overlay.is_tall());
    let frame = match overlay {
        Some(ScreenOverlay::Agents(view)) => agents::frame(state, view),
        Some(ScreenOverlay::Agent(agent)) => agent::frame(state, *agent),
        Some(ScreenOverlay::Pager(pager)) => pager::frame(state, pager),
        Some(ScreenOverlay::Peek(agent)) => peek::frame(state, *agent),
        Some(ScreenOverlay::Questions(view)) => questions::frame(state, view),
        Some(ScreenOverlay::Spawn(form)) => spawn::frame(state, form),
        Some(ScreenOverlay::Stop(dialog)) => stop::frame(state, dialog),
        Some(ScreenOverlay::Leaving | ScreenOverlay::Picker(_)) | None => {
            conversation::frame(state)
        }
    };
    fitting_frame(frame, state.size)
}

/// Cuts a frame to the size of the screen.
pub(crate) fn fitting_frame(mut frame: ScreenFrame, size: ScreenSize) -> ScreenFrame {
    let rows = size.rows.max(1);
    if frame.rows.len() > rows {
        // The line that is written and what stands below it are the last to go.
        let gone = frame.rows.len() - rows;
        frame.rows.drain(..gone);
        frame.cursor = frame.cursor.and_then(|mut cursor| {
            cursor.row = cursor.row.checked_sub(gone)?;
            Some(cursor)
        });
    }
    for row in &mut frame.rows {
        let cut = std::mem::take(row).cut(size.columns);
        *row = cut;
    }
    if let Some(cursor) = &mut frame.cursor {
        cursor.column = cursor.column.min(size.columns.saturating_sub(1));
    }
    frame
}

/// Returns `key word` pairs of a context, for the last row of a view: as many as there is room
/// for, and the key that lists all.
fn footer(state: &AppState, context: KeyContext) -> TextRow {
    footer_of(&state.keymap, context, state.size.columns)
}

pub(crate) fn footer_of(keymap: &KeyMap, context: KeyContext, columns: usize) -> TextRow {
    let mut pairs = keymap.footer(context);
    let help = pairs
        .iter()
        .position(|(_, word)| *word == "keys")
        .map(|at| pairs.remove(at));
    let width = |(key, word): &(String, &str)| text_width(key) + 1 + text_width(word);
    let mut left = columns;
    left = left.saturating_sub(help.as_ref().map_or(0, |pair| width(pair) + 2));
    let mut row = TextRow::new();
    for pair in &pairs {
        let needed = width(pair) + if row.width() > 0 { 2 } else { 0 };
        if needed > left && row.width() > 0 {
            break;
        }
        left = left.saturating_sub(needed);
        row = with_key(row, pair);
    }
    match &help {
        Some(pair) => with_key(row, pair),
        None => row,
    }
}

fn with_key(row: TextRow, (key, word): &(String, &str)) -> TextRow {
    let gap = if row.width() > 0 { "  " } else { "" };
    row.with(gap, TextStyle::PLAIN)
        .with(key, TextStyle::BOLD)
        .with(format!(" {word}"), TextStyle::DIM)
}

/// Fills rows up to the height of the screen, with the footer at the end.
fn filled(mut rows: Vec<TextRow>, footer: TextRow, state: &AppState) -> Vec<TextRow> {
    let height = state.size.rows.saturating_sub(1);
    rows.resize(height, TextRow::new());
    rows.push(footer);
    rows
}

/// Returns a cell without marks and wrapping, as it was written: the terminal breaks its lines,
/// so that copying gives them back whole.
pub fn raw_rows(body: &crate::cells::CellBody) -> Vec<TextRow> {
    let mut rows = vec![TextRow::new()];
    rows.extend(body.source().lines().map(TextRow::plain));
    rows
}
