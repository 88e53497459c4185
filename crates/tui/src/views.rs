//! The state as rows. One file for each thing that is seen.

pub mod agent;
pub mod agents;
pub mod band;
pub mod conversation;
pub mod line;
pub mod pager;
pub mod picker;
pub mod plain;
pub mod result;
pub mod status;
pub mod stop;

use crate::state::{AppState, ScreenOverlay};
use crate::terminal::ScreenFrame;
use crate::text::{TextRow, TextStyle};

/// Returns what is to be seen: the whole screen, or the viewport below the history.
pub fn view(state: &AppState) -> ScreenFrame {
    let overlay = state
        .overlays
        .iter()
        .rev()
        .find(|overlay| overlay.is_tall());
    let mut frame = match overlay {
        Some(ScreenOverlay::Agents(view)) => agents::frame(state, view),
        Some(ScreenOverlay::Agent(agent)) => agent::frame(state, *agent),
        Some(ScreenOverlay::Pager(pager)) => pager::frame(state, pager),
        Some(ScreenOverlay::Stop(dialog)) => stop::frame(state, dialog),
        Some(ScreenOverlay::Leaving | ScreenOverlay::Picker(_)) | None => {
            conversation::frame(state)
        }
    };
    let rows = state.size.rows.max(1);
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
        let cut = std::mem::take(row).cut(state.size.columns);
        *row = cut;
    }
    if let Some(cursor) = &mut frame.cursor {
        cursor.column = cursor.column.min(state.size.columns.saturating_sub(1));
    }
    frame
}

/// Returns `key word` pairs of a context, for the last row of a view.
fn footer(state: &AppState, context: crate::keys::KeyContext) -> TextRow {
    let mut row = TextRow::new();
    for (number, (key, word)) in state.keymap.footer(context).into_iter().enumerate() {
        if number > 0 {
            row.push("  ", TextStyle::PLAIN);
        }
        row = row
            .with(key, TextStyle::BOLD)
            .with(format!(" {word}"), TextStyle::DIM);
    }
    row
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
