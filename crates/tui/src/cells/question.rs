//! A question that was settled, and by whom.

use crate::text::wrap::{WrapMode, wrap_into};
use crate::text::{Indent, Ink, TextRow, TextSpan, TextStyle};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionCell {
    /// `you allowed tester to run cargo test`.
    pub text: String,
    pub agreed: bool,
}

impl QuestionCell {
    pub(super) fn rows(&self, columns: usize) -> Vec<TextRow> {
        let (mark, ink) = if self.agreed {
            ("✓ ", Ink::Green)
        } else {
            ("✗ ", Ink::Red)
        };
        let span = [TextSpan::new(&self.text, TextStyle::PLAIN)];
        let indent = Indent::mark(mark, TextStyle::ink(ink));
        let mut rows = Vec::new();
        wrap_into(&mut rows, &span, &indent, columns, WrapMode::Words);
        rows
    }
}
