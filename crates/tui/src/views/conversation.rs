//! The conversation: what runs, who needs the user, the line, and how things stand.

use super::{band, line, picker, status};
use crate::cells::CellFold;
use crate::limits::{VIEWPORT_DIVISOR, VIEWPORT_ROWS_MIN};
use crate::state::{AppState, ScreenOverlay, WaitingMessage};
use crate::terminal::ScreenFrame;
use crate::text::{TextRow, TextStyle};
use crate::transcript::Transcript;

pub fn frame(state: &AppState) -> ScreenFrame {
    let (columns, height) = (state.size.columns, state.size.rows);
    let (bottom, cursor) = bottom_rows(state, columns);
    let room = height.saturating_sub(bottom.len());
    let mut rows = if state.is_full_screen {
        let above = conversation_rows(&state.transcript, state, room, state.scrolled);
        let mut rows = vec![TextRow::new(); room.saturating_sub(above.len())];
        rows.extend(above);
        rows
    } else {
        let most = (height / VIEWPORT_DIVISOR).max(VIEWPORT_ROWS_MIN);
        let mut rows = state.transcript.live_rows(columns, state.now_ms);
        let gone = rows.len().saturating_sub(most.min(room));
        rows.drain(..gone);
        rows
    };
    let above = rows.len();
    rows.extend(bottom);
    let cursor = cursor.map(|mut cursor| {
        cursor.row += above;
        cursor
    });
    ScreenFrame { rows, cursor }
}

/// Returns everything from the line of agents on.
pub fn bottom_rows(state: &AppState, columns: usize) -> (Vec<TextRow>, line::CursorPlaceInRows) {
    let mut rows = vec![TextRow::new()];
    rows.extend(waiting_rows(&state.waiting, columns));
    rows.extend(status::agents_row(state, columns));
    rows.extend(band::rows(state, columns));
    if let Some(lost) = &state.facts.lost {
        rows.push(TextRow::styled(format!("✗ {lost}"), TextStyle::BOLD).ellipsis(columns));
    }
    if let Some(toast) = &state.toast {
        rows.push(TextRow::dim(&toast.text).ellipsis(columns));
    }
    let (input, cursor) = match state.overlays.last() {
        Some(ScreenOverlay::Picker(picker)) => (picker::rows(state, picker, columns), None),
        Some(ScreenOverlay::Leaving) => (leaving_rows(state, columns), None),
        _ => {
            let line = line::rows(state, columns);
            (line.rows, line.cursor)
        }
    };
    let above = rows.len();
    rows.extend(input);
    rows.extend(status::status_row(state, columns));
    let cursor = cursor.map(|mut cursor| {
        cursor.row += above;
        cursor
    });
    (rows, cursor)
}

/// Returns as many of the last rows as there is room for, some rows up.
pub fn conversation_rows(
    transcript: &Transcript,
    state: &AppState,
    room: usize,
    scrolled: usize,
) -> Vec<TextRow> {
    let columns = state.size.columns;
    let mut parts = vec![transcript.live_rows(columns, state.now_ms)];
    let mut have = parts[0].len();
    for cell in transcript.cells().iter().rev() {
        if have >= room + scrolled {
            break;
        }
        let rows = cell.rows(columns, CellFold::Folded);
        have += rows.len();
        parts.push(rows);
    }
    let rows: Vec<TextRow> = parts.into_iter().rev().flatten().collect();
    // Scrolled up no further than there is something to see.
    let up = scrolled.min(rows.len().saturating_sub(room));
    let end = rows.len() - up;
    let mut shown = rows[end.saturating_sub(room)..end].to_vec();
    if up > 0
        && let Some(last) = shown.last_mut()
    {
        *last = TextRow::dim(format!("… {up} rows below")).cut(columns);
    }
    shown
}

fn waiting_rows(waiting: &[WaitingMessage], columns: usize) -> Vec<TextRow> {
    let mut number = 0;
    let row = |message: &WaitingMessage| {
        let first = message.text.lines().next().unwrap_or_default();
        let mark = if message.client_id.is_some() {
            "  sent   ".to_owned()
        } else {
            number += 1;
            format!("  next {number} ")
        };
        TextRow::dim(format!("{mark}{first}")).ellipsis(columns)
    };
    waiting.iter().map(row).collect()
}

pub(super) fn leaving_rows(state: &AppState, columns: usize) -> Vec<TextRow> {
    let head = TextRow::styled("Agents are at work. Leave and …", TextStyle::BOLD);
    let keys = super::footer(state, crate::keys::KeyContext::Leaving);
    vec![head.ellipsis(columns), keys.ellipsis(columns)]
}
