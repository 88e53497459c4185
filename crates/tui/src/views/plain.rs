//! The same for screen readers: lines with labels, and the line that is written.

use crate::cells::CellFold;
use crate::state::AppState;
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
        (true, _) => format!("> {}", state.composer.buffer.text().replace('\n', " ")),
        (false, _) => {
            let frame = super::view(state);
            let rows = frame.rows.iter().map(TextRow::text);
            let rows: Vec<String> = rows.filter(|row| !row.trim().is_empty()).collect();
            rows.join("; ")
        }
    };
    let text = crate::text::clean(&text).into_owned();
    fitting(&text, columns).0.to_owned()
}
