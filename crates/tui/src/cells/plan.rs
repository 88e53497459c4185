//! A proposed plan: a block with a background of its own.

use crate::markdown::markdown_rows;
use crate::text::{TextRow, TextStyle};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanCell {
    pub text: String,
}

impl PlanCell {
    pub(super) fn rows(&self, columns: usize) -> Vec<TextRow> {
        let mut rows = vec![TextRow::styled("• Proposed Plan", TextStyle::BOLD).cut(columns)];
        let block = markdown_rows(&self.text, columns);
        rows.extend(block.into_iter().map(|row| row.padded(columns).shaded()));
        rows
    }
}
