//! A birth or an end of an agent, in one line.

use crate::text::{Ink, TextRow, TextSpan, TextStyle};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentNewsCell {
    pub text: String,
    /// Nothing more comes of that agent by itself.
    pub is_final: bool,
}

impl AgentNewsCell {
    pub(super) fn rows(&self, columns: usize) -> Vec<TextRow> {
        let (mark, ink) = if self.is_final {
            ("✓ ", Ink::Green)
        } else {
            ("● ", Ink::Cyan)
        };
        let mut row = TextRow::styled(mark, TextStyle::ink(ink));
        let text = TextSpan::new(self.text.lines().next().unwrap_or_default(), TextStyle::DIM);
        row.push(&text.text, text.style);
        vec![row.ellipsis(columns)]
    }
}
