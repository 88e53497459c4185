//! The dialog from which an agent is made.

use super::{filled, footer};
use crate::keys::KeyContext;
use crate::state::{AppState, SpawnFieldKind, SpawnForm};
use crate::terminal::{CursorPlace, ScreenFrame};
use crate::text::{TextRow, TextStyle, clean, text_width, wrap_text};

/// Columns of the names of the fields.
const LABEL_COLUMNS: usize = 12;

pub fn frame(state: &AppState, form: &SpawnForm) -> ScreenFrame {
    let columns = state.size.columns;
    let width = columns.saturating_sub(LABEL_COLUMNS).max(1);
    let mut rows = vec![
        TextRow::styled("NEW AGENT", TextStyle::BOLD).with(" below root", TextStyle::DIM),
        TextRow::new(),
    ];
    let mut cursor = None;
    for (number, field) in form.fields.iter().enumerate() {
        let is_chosen = number == form.chosen;
        let mark = if is_chosen { "› " } else { "  " };
        let style = if is_chosen {
            TextStyle::BOLD
        } else {
            TextStyle::DIM
        };
        let label = TextRow::styled(format!("{mark}{:<10}", field.kind.label()), style);
        let text = clean(field.text.text()).into_owned();
        if is_chosen {
            let before = text_width(&clean(&field.text.text()[..field.text.cursor()]));
            cursor = Some(CursorPlace {
                row: rows.len() + before / width,
                column: LABEL_COLUMNS + before % width,
            });
        }
        if text.is_empty() {
            rows.push(label.with(field.kind.empty(), TextStyle::DIM));
            continue;
        }
        let mut lines = broken(&text, width).into_iter();
        rows.push(label.with(lines.next().unwrap_or_default(), TextStyle::PLAIN));
        let indent = " ".repeat(LABEL_COLUMNS);
        rows.extend(lines.map(|line| TextRow::plain(format!("{indent}{line}"))));
    }
    rows.push(TextRow::new());
    rows.extend(about_field(state, form.fields[form.chosen].kind, columns));
    if let Some(toast) = &state.toast {
        rows.push(TextRow::new());
        rows.push(TextRow::styled(&toast.text, TextStyle::BOLD));
    }
    ScreenFrame {
        rows: filled(rows, footer(state, KeyContext::Spawn), state),
        cursor,
    }
}

/// Breaks a text at the columns, so that its cursor can be found by division.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for letter in text.chars() {
        let letter_width = text_width(letter.encode_utf8(&mut [0; 4]));
        if used + letter_width > width {
            lines.push(String::new());
            used = 0;
        }
        used += letter_width;
        if let Some(line) = lines.last_mut() {
            line.push(letter);
        }
    }
    lines
}

/// Returns what the field can be, and what is known of the value that it has.
fn about_field(state: &AppState, kind: SpawnFieldKind, columns: usize) -> Vec<TextRow> {
    let choices = state.spawn_choices(kind);
    if choices.is_empty() {
        return Vec::new();
    }
    let text = if kind == SpawnFieldKind::Role {
        let told = state.roles.iter();
        let lines: Vec<String> = told
            .map(|role| format!("{}: {}", role.name, role.description))
            .collect();
        lines.join("\n")
    } else {
        choices.join("  ")
    };
    wrap_text(&text, TextStyle::DIM, columns)
}
