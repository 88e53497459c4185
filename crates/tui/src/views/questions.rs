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
    let room = state.size.rows.saturating_sub(2);
    let most = (room / QUESTION_LIST_DIVISOR).max(1);
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
        let left_over = state.size.rows.saturating_sub(rows.len() + 1);
        let top = view.top.min(whole.len().saturating_sub(left_over));
        rows.extend(whole.into_iter().skip(top).take(left_over));
    }
    ScreenFrame {
        rows: filled(rows, band::keys_of(state, chosen), state),
        cursor: None,
    }
}

/// Returns a question in full.
pub fn whole_rows(question: &PendingQuestion, columns: usize) -> Vec<TextRow> {
    let mut rows = Vec::new();
    diff_rows(&mut rows, &question.in_full(), columns, CellFold::Whole);
    rows
}
