//! What the model thought: the headline, and the rest on request.

use crate::text::{TextRow, TextStyle, wrap_text};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReasoningCell {
    pub text: String,
}

const HEADLINE: TextStyle = TextStyle {
    italic: true,
    ..TextStyle::DIM
};

impl ReasoningCell {
    /// Returns the first line that says something, without its marks.
    pub fn headline(&self) -> String {
        headline_of(&self.text)
    }

    pub(super) fn rows(&self, columns: usize, fold: super::CellFold) -> Vec<TextRow> {
        match fold {
            super::CellFold::Folded => {
                vec![TextRow::styled(self.headline(), HEADLINE).ellipsis(columns)]
            }
            super::CellFold::Whole => wrap_text(&self.text, HEADLINE, columns),
        }
    }
}

/// Returns the headline of reasoning that may not be complete.
pub fn headline_of(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default().trim();
    line.trim_matches(|letter| matches!(letter, '*' | '#' | ' '))
        .to_owned()
}
