//! The first question, in the rows above the line. Never a dialog.

use super::{pager, questions};
use crate::keys::{KeyAction, KeyContext};
use crate::limits::{BAND_ROWS_MAX, VIEWPORT_DIVISOR};
use crate::questions::{PendingQuestion, QuestionBody};
use crate::state::{AppState, PagerBody, ScreenOverlay};
use crate::text::{Ink, TextRow, TextStyle};
use troupe_protocol::approval::ReviewDecision;

/// Before what a question is about, below the row that says who asks.
const INDENT: &str = "  ";

pub fn rows(state: &AppState, columns: usize) -> Vec<TextRow> {
    let Some(question) = state.questions.first() else {
        return plan_rows(state, columns);
    };
    let count = state.questions.pending().len();
    let left = TextRow::styled("! ", TextStyle::ink(Ink::Yellow).bold())
        .with(format!("{}: ", question.asker_name()), TextStyle::BOLD)
        .with(question.line(), TextStyle::PLAIN);
    let mut right = TextRow::new();
    if count > 1 {
        right = right.with(format!("1 of {count}   "), TextStyle::DIM);
    }
    right.append(keys(state, question));
    let mut rows = Vec::new();
    if right.width() + 24 <= columns {
        rows.push(TextRow::justified(left, right, columns));
    } else {
        rows.push(left.ellipsis(columns));
        rows.push(right.ellipsis(columns));
    }
    rows.extend(whole_rows(state, columns).unwrap_or_default());
    let options = question.options();
    if !options.is_empty() {
        let mut row = TextRow::plain(" ");
        for (number, option) in options.iter().enumerate() {
            row = row.with(format!(" {}", number + 1), TextStyle::BOLD);
            row = row.with(format!(" {option}  "), TextStyle::PLAIN);
        }
        rows.push(row.ellipsis(columns));
    }
    rows
}

/// Returns all that the first question is about, if there is room for it. What there is no room for
/// is read in full before anybody can agree to it.
pub fn whole_rows(state: &AppState, columns: usize) -> Option<Vec<TextRow>> {
    let question = state.questions.first()?;
    if !question.needs_reading() {
        return None;
    }
    let room = (state.size.rows / VIEWPORT_DIVISOR).min(BAND_ROWS_MAX);
    if question.in_full().lines().nth(room).is_some() {
        return None;
    }
    let rows = questions::whole_rows(question, columns.saturating_sub(INDENT.len()));
    let indented = |row| {
        let mut indented = TextRow::plain(INDENT);
        indented.append(row);
        indented
    };
    (rows.len() <= room).then(|| rows.into_iter().map(indented).collect())
}

/// Tells whether all that a yes to this question would be about is on the screen, up to its end.
pub fn is_shown_whole(state: &AppState, question: &PendingQuestion) -> bool {
    if !question.needs_reading() {
        return true;
    }
    match state.overlays.last() {
        Some(ScreenOverlay::Pager(pager)) => {
            pager.body == PagerBody::Question(question.id.clone()) && pager::shows_end(state)
        }
        Some(ScreenOverlay::Questions(view)) => {
            let pending = state.questions.pending();
            let chosen = pending.get(view.chosen(state));
            chosen.is_some_and(|chosen| chosen.id == question.id)
                && questions::shows_end(state, view)
        }
        Some(ScreenOverlay::Agents(_) | ScreenOverlay::Stop(_) | ScreenOverlay::Spawn(_)) => false,
        None
        | Some(
            ScreenOverlay::Agent(_)
            | ScreenOverlay::Peek(_)
            | ScreenOverlay::Leaving
            | ScreenOverlay::Picker(_),
        ) => {
            let first = state.questions.first();
            first.is_some_and(|first| first.id == question.id)
                && whole_rows(state, state.size.columns).is_some()
        }
    }
}

/// Returns the keys that answer the first question.
pub fn answer_keys(state: &AppState) -> TextRow {
    keys_of(state, 0)
}

/// Returns the keys that answer the question with this number.
pub fn keys_of(state: &AppState, number: usize) -> TextRow {
    let question = state.questions.pending().get(number);
    question
        .map(|question| keys(state, question))
        .unwrap_or_default()
}

/// Returns the keys that answer, and no other.
fn keys(state: &AppState, question: &PendingQuestion) -> TextRow {
    use KeyAction as A;
    use ReviewDecision as D;
    let key = |action| state.keymap.key_text(KeyContext::Band, action);
    let decisions = [
        (A::Approve, D::Approved, "once"),
        (A::ApproveSession, D::ApprovedForSession, "session"),
        (A::ApprovePrefix, D::ApprovedAlways, "for good"),
        (A::Deny, D::Denied, "no"),
    ];
    let mut row = TextRow::new();
    for (action, decision, word) in decisions {
        if question.offers(decision) {
            row = row
                .with(key(action), TextStyle::BOLD)
                .with(format!(" {word}  "), TextStyle::DIM);
        }
    }
    let text_word = match question.body {
        QuestionBody::Command(_) | QuestionBody::Patch(_) => "no, why  ",
        QuestionBody::Input(_) | QuestionBody::Elicitation(_) if question.takes_text() => "say  ",
        QuestionBody::Input(_) | QuestionBody::Elicitation(_) => "",
    };
    if !text_word.is_empty() {
        row = row
            .with(key(A::DenySaying), TextStyle::BOLD)
            .with(format!(" {text_word}"), TextStyle::DIM);
    }
    let same = state.questions.same_as_first();
    if same > 0 {
        row = row
            .with(key(A::ApproveAll), TextStyle::BOLD)
            .with(format!(" all {}  ", same + 1), TextStyle::DIM);
    }
    let whole = state.keymap.key_text(KeyContext::Main, A::ShowWhole);
    row.with(whole, TextStyle::BOLD)
        .with(" whole", TextStyle::DIM)
}

fn plan_rows(state: &AppState, columns: usize) -> Vec<TextRow> {
    if !state.plan_offered {
        return Vec::new();
    }
    let mut row = TextRow::styled("Implement this plan?", TextStyle::BOLD);
    for (key, word) in state.keymap.footer(KeyContext::Plan) {
        row = row
            .with(format!("  {key}"), TextStyle::BOLD)
            .with(format!(" {word}"), TextStyle::PLAIN);
        if word.contains("fresh")
            && let Some(percent) = state.facts.context_percent()
        {
            row = row.with(format!(" ({percent} % used)"), TextStyle::DIM);
        }
    }
    vec![row.ellipsis(columns)]
}
