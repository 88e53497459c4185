//! A list to choose from, in the place of the line.

use super::footer;
use crate::keys::KeyContext;
use crate::limits::COMPLETION_ROWS;
use crate::state::{AppState, PickerView};
use crate::text::{TextRow, TextStyle};

pub fn rows(state: &AppState, picker: &PickerView, columns: usize) -> Vec<TextRow> {
    let head = TextRow::styled(picker.kind.title(), TextStyle::BOLD)
        .with(format!("  /{}", picker.filter), TextStyle::PLAIN);
    let matching = picker.matching();
    let count = TextRow::dim(format!("{} of {}", matching.len(), picker.rows.len()));
    let mut rows = vec![TextRow::justified(head, count, columns)];
    let from = (picker.chosen + 1).saturating_sub(COMPLETION_ROWS);
    for (at, (_, row)) in matching.iter().enumerate().skip(from).take(COMPLETION_ROWS) {
        let is_chosen = at == picker.chosen;
        let style = if is_chosen {
            TextStyle::BOLD
        } else {
            TextStyle::PLAIN
        };
        let mark = if is_chosen { "› " } else { "  " };
        let first = row.lines().next().unwrap_or_default();
        rows.push(TextRow::styled(format!("{mark}{first}"), style).ellipsis(columns));
    }
    rows.push(footer(state, KeyContext::Picker).ellipsis(columns));
    rows
}
