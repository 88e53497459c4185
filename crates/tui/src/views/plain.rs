//! The same for screen readers: lines with labels, and the line that is written.

use crate::cells::CellFold;
use crate::state::{AppState, ScreenOverlay};
use crate::text::TextRow;
use crate::text::width::fitting;
use crate::transcript::TranscriptCell;

/// Returns the lines of a finished cell.
pub fn cell_lines(cell: &TranscriptCell, columns: usize) -> Vec<String> {
    let rows = cell.body.rows(columns, CellFold::Folded);
    let mut lines: Vec<String> = rows.iter().map(TextRow::text).collect();
    if let Some(first) = lines.first_mut() {
        *first = format!("{}: {first}", cell.body.label());
    }
    lines
}

/// Returns what stands below the conversation, as lines: what lies over it, or else all that the
/// first question is about.
pub fn lines_below(state: &AppState) -> Vec<String> {
    let overlay = overlay_lines(state);
    if !overlay.is_empty() {
        return overlay;
    }
    let rows = super::band::whole_rows(state, state.size.columns);
    rows.iter().flatten().map(TextRow::text).collect()
}

/// Returns what lies over the conversation, as lines; none if that is an agent, to whom one
/// writes as to the root.
pub fn overlay_lines(state: &AppState) -> Vec<String> {
    let rows = match state.overlays.last() {
        None | Some(ScreenOverlay::Agent(_) | ScreenOverlay::Peek(_)) => Vec::new(),
        Some(ScreenOverlay::Picker(picker)) => {
            super::picker::rows(state, picker, state.size.columns)
        }
        Some(ScreenOverlay::Leaving) => {
            super::conversation::leaving_rows(state, state.size.columns)
        }
        Some(_) => super::view(state).rows,
    };
    let texts = rows.iter().map(|row| row.text().trim().to_owned());
    texts.filter(|text| !text.is_empty()).collect()
}

/// Returns the lines that were not there before, so that nothing is heard twice.
pub fn new_lines(before: &[String], now: &[String]) -> Vec<String> {
    let new = now.iter().filter(|line| !before.contains(line));
    new.cloned().collect()
}

/// Returns the line that is written, as far as it fits.
pub fn last_line(state: &AppState) -> String {
    let columns = state.size.columns.saturating_sub(1);
    let text = match (state.overlays.is_empty(), state.questions.first()) {
        (true, Some(question)) if state.composer.is_empty() => {
            let options = question.options();
            let numbered = options.iter().enumerate();
            let options: Vec<String> = numbered
                .map(|(number, option)| format!("{} {option}", number + 1))
                .collect();
            let keys = if options.is_empty() {
                "y yes, n no".to_owned()
            } else {
                options.join(", ")
            };
            format!(
                "{} asks: {} ({keys}) > ",
                question.asker_name(),
                question.line()
            )
        }
        _ if overlay_lines(state).is_empty() => {
            let text = state.composer.buffer.text().replace('\n', " ");
            format!("{}{text}", super::line::label_of(state).replace('›', ">"))
        }
        (_, _) => "> ".to_owned(),
    };
    let text = crate::text::clean(&text).into_owned();
    fitting(&text, columns).0.to_owned()
}
