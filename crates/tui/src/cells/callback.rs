//! The message by which a child's end reaches its caller.

use super::CellFold;
use crate::markdown::markdown_rows;
use crate::text::{Ink, TextRow, TextStyle};

/// Rows that are shown of a message that is folded.
const FOLDED_ROWS: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallbackCell {
    /// The child, by its name or the short id of its session.
    pub child: String,
    pub text: String,
}

impl CallbackCell {
    pub(super) fn rows(&self, columns: usize, fold: CellFold) -> Vec<TextRow> {
        let head = TextRow::styled("↩ ", TextStyle::ink(Ink::Green))
            .with(format!("{} calls back", self.child), TextStyle::BOLD);
        let mut rows = vec![head.ellipsis(columns)];
        let text = markdown_rows(&self.text, columns);
        let shown = match fold {
            CellFold::Folded => FOLDED_ROWS.min(text.len()),
            CellFold::Whole => text.len(),
        };
        let hidden = text.len() - shown;
        rows.extend(text.into_iter().take(shown));
        if hidden > 0 {
            rows.push(TextRow::dim(format!("… {hidden} rows below")).cut(columns));
        }
        rows
    }
}
