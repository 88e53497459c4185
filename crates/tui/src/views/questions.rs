//! Everything that waits for the person's word, oldest first, and the chosen one in full.

use super::{band, filled};
use crate::cells::{CellFold, diff_rows};
use crate::limits::QUESTION_LIST_DIVISOR;
use crate::questions::PendingQuestion;
use crate::state::{AppState, QuestionsView};
use crate::terminal::ScreenFrame;
use crate::text::quantity::age_text;
use crate::text::{Ink, TextRow, TextStyle};

pub fn frame(state: &AppState, view: &QuestionsView) -> ScreenFrame {
    let columns = state.size.columns;
    let pending = state.questions.pending();
    let age = |since_ms: i64| age_text(u64::try_from(state.now_ms - since_ms).unwrap_or(0));
    let oldest = pending.iter().map(|question| question.since_ms).min();
    let left = TextRow::styled(format!("QUESTIONS {}", pending.len()), TextStyle::BOLD);
    let right = oldest.map_or_else(TextRow::new, |since| {
        TextRow::dim(format!("oldest {}", age(since)))
    });
    let mut rows = vec![TextRow::justified(left, right, columns)];
    let most = list_rows(state);
    let chosen = view.chosen(state);
    let from = (chosen + 1).saturating_sub(most);
    for (number, question) in pending.iter().enumerate().skip(from).take(most) {
        let is_chosen = number == chosen;
        let style = if is_chosen {
            TextStyle::BOLD
        } else {
            TextStyle::PLAIN
        };
        let left = TextRow::styled(if is_chosen { "›" } else { " " }, style)
            .with("! ", TextStyle::ink(Ink::Yellow).bold())
            .with(format!("{:<10} ", question.asker_name()), style)
            .with(question.line(), TextStyle::PLAIN);
        let right = TextRow::dim(age(question.since_ms));
        rows.push(TextRow::justified(left, right, columns));
    }
    rows.push(TextRow::dim("─".repeat(columns)));
    if let Some(question) = pending.get(chosen) {
        let whole = whole_rows(question, columns);
        let room = text_room(state, rows.len());
        let top = view.top.min(whole.len().saturating_sub(room));
        rows.extend(whole.into_iter().skip(top).take(room));
    }
    ScreenFrame {
        rows: filled(rows, band::keys_of(state, chosen), state),
        cursor: None,
    }
}

/// Returns how many questions are listed at most.
fn list_rows(state: &AppState) -> usize {
    (state.size.rows.saturating_sub(2) / QUESTION_LIST_DIVISOR).max(1)
}

/// Returns how many rows of the chosen question there is room for below the list.
fn text_room(state: &AppState, above: usize) -> usize {
    state.size.rows.saturating_sub(above + 1)
}

/// Tells whether the last row of the chosen question is on the screen.
pub fn shows_end(state: &AppState, view: &QuestionsView) -> bool {
    let pending = state.questions.pending();
    let Some(question) = pending.get(view.chosen(state)) else {
        return false;
    };
    // The head, the list and the line below it.
    let listed = pending.len().min(list_rows(state));
    let room = text_room(state, listed + 2);
    whole_rows(question, state.size.columns).len() <= view.top + room
}

/// Returns a question in full.
pub fn whole_rows(question: &PendingQuestion, columns: usize) -> Vec<TextRow> {
    let mut rows = Vec::new();
    diff_rows(&mut rows, question.in_full(), columns, CellFold::Whole);
    rows
}
