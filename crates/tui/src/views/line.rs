//! The line that is written: its rows, its cursor, and what is offered below it.

use troupe_protocol::AgentId;

use crate::composer::{CompletionKind, EditBuffer};
use crate::limits::{COMPLETION_ROWS, COMPOSER_ROWS_MAX};
use crate::state::{AppState, LinePurpose};
use crate::terminal::CursorPlace;
use crate::text::{TextRow, TextStyle, clean, graphemes, text_width};

/// Rows of the line, with the cursor in them.
#[derive(Debug, Clone, Default)]
pub struct LineRows {
    pub rows: Vec<TextRow>,
    pub cursor: CursorPlaceInRows,
}

/// Counted from the first of the rows.
pub type CursorPlaceInRows = Option<CursorPlace>;

pub fn rows(state: &AppState, columns: usize) -> LineRows {
    let label = label_of(state);
    let hint = if state.composer.is_normal() {
        "normal mode: i writes, Enter sends"
    } else {
        hint_of(state)
    };
    let mut line = laid_out(&state.composer.buffer, &label, columns);
    if state.composer.is_empty() {
        line.rows[0].push(hint, TextStyle::DIM);
        line.rows[0] = std::mem::take(&mut line.rows[0]).cut(columns);
    }
    if let Some(list) = &state.composer.completion {
        let from = (list.chosen + 1).saturating_sub(COMPLETION_ROWS);
        let shown = list
            .rows
            .iter()
            .enumerate()
            .skip(from)
            .take(COMPLETION_ROWS);
        for (number, row) in shown {
            let mark = if number == list.chosen { "› " } else { "  " };
            let sign = match list.kind {
                CompletionKind::Command => "/",
                CompletionKind::Skill => "$",
                CompletionKind::File | CompletionKind::History => "",
            };
            let style = if number == list.chosen {
                TextStyle::BOLD
            } else {
                TextStyle::PLAIN
            };
            let mut shown = TextRow::styled(format!("{mark}{sign}{row}"), style);
            if list.kind == CompletionKind::Command {
                let command = crate::commands::COMMANDS.iter().find(|it| it.name == row);
                let help = command.map_or("", |command| command.help);
                shown = shown.with(format!("  {help}"), TextStyle::DIM);
            }
            line.rows.push(shown.ellipsis(columns));
        }
    }
    line
}

/// Says what the empty line is for.
fn hint_of(state: &AppState) -> &'static str {
    match (
        &state.purpose,
        state.facts.task.is_some(),
        state.facts.drives(),
    ) {
        (_, _, false) => "another client drives; /drive asks for the seat",
        (LinePurpose::Prompt, _, _) if state.shown_agent() != AgentId::ROOT => {
            "Enter: with its next request   Ctrl+Enter: interrupt first"
        }
        (LinePurpose::Prompt, false, _) => "Message, /command, !shell, @file, ? for keys",
        (LinePurpose::Prompt, true, _) => "Enter: with the next request   Tab: after this task",
        (_, _, _) => "Enter: send   Esc: back",
    }
}

pub(super) fn label_of(state: &AppState) -> String {
    match &state.purpose {
        LinePurpose::Prompt => match state.shown_agent() {
            AgentId::ROOT => "› ".to_owned(),
            agent => format!("to {} › ", state.roster.name(agent)),
        },
        LinePurpose::Refusal { .. } => "no, because › ".to_owned(),
        LinePurpose::Answer => "answer › ".to_owned(),
    }
}

/// Lays the text out letter by letter, so that the cursor is where the letter will be.
fn laid_out(buffer: &EditBuffer, label: &str, columns: usize) -> LineRows {
    let label = clean(label).into_owned();
    let margin = text_width(&label);
    let margin = if margin + 2 < columns { margin } else { 0 };
    let mut row = TextRow::new();
    if margin > 0 {
        row.push(&label, TextStyle::BOLD);
    }
    let indent = || TextRow::plain(" ".repeat(margin.min(2)));
    let mut rows = Vec::new();
    let mut used = margin;
    let mut cursor = None;
    let mut at = 0;
    let columns = columns.max(1);
    for (number, line) in buffer.text().split('\n').enumerate() {
        if number > 0 {
            rows.push(std::mem::replace(&mut row, indent()));
            used = margin.min(2);
            at += 1;
        }
        for (letter, _) in graphemes(line) {
            let shown = clean(letter);
            let width = text_width(&shown);
            if used + width > columns && used > 0 {
                rows.push(std::mem::replace(&mut row, indent()));
                used = margin.min(2);
            }
            if at == buffer.cursor() {
                cursor = Some(CursorPlace {
                    row: rows.len(),
                    column: used,
                });
            }
            row.push(&shown, TextStyle::PLAIN);
            used += width;
            at += letter.len();
        }
        if at == buffer.cursor() && cursor.is_none() {
            if used >= columns {
                rows.push(std::mem::replace(&mut row, indent()));
                used = margin.min(2);
            }
            cursor = Some(CursorPlace {
                row: rows.len(),
                column: used,
            });
        }
    }
    rows.push(row);
    scrolled(LineRows { rows, cursor })
}

/// Keeps the rows around the cursor.
fn scrolled(mut line: LineRows) -> LineRows {
    let at = line.cursor.map_or(0, |cursor| cursor.row);
    let from = (at + 1).saturating_sub(COMPOSER_ROWS_MAX);
    line.rows.drain(..from);
    line.rows.truncate(COMPOSER_ROWS_MAX);
    if let Some(cursor) = &mut line.cursor {
        cursor.row -= from;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_is_where_the_letter_will_be() {
        let mut buffer = EditBuffer::default();
        buffer.insert("日本語abc");
        let line = laid_out(&buffer, "› ", 8);
        let texts: Vec<String> = line.rows.iter().map(TextRow::text).collect();
        assert_eq!(texts, ["› 日本語", "  abc"]);
        assert_eq!(line.cursor, Some(CursorPlace { row: 1, column: 5 }));
        for _ in 0..3 {
            buffer.left();
        }
        let line = laid_out(&buffer, "› ", 8);
        assert_eq!(line.cursor, Some(CursorPlace { row: 1, column: 2 }));
        let narrow = laid_out(&buffer, "› ", 1);
        assert!(narrow.rows.len() <= COMPOSER_ROWS_MAX);
    }
}
