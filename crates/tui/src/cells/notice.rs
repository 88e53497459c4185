//! What went wrong, and what is worth knowing.

use crate::text::wrap::{WrapMode, wrap_into};
use crate::text::{Indent, Ink, TextRow, TextSpan, TextStyle};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticeCell {
    pub level: NoticeLevel,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}

impl NoticeLevel {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Info => "Note",
            Self::Warning => "Warning",
            Self::Error => "Error",
        }
    }
}

impl NoticeCell {
    pub fn info(text: impl Into<String>) -> Self {
        Self::new(NoticeLevel::Info, text)
    }

    pub fn warning(text: impl Into<String>) -> Self {
        Self::new(NoticeLevel::Warning, text)
    }

    pub fn error(text: impl Into<String>) -> Self {
        Self::new(NoticeLevel::Error, text)
    }

    fn new(level: NoticeLevel, text: impl Into<String>) -> Self {
        Self {
            level,
            text: text.into(),
        }
    }

    pub(super) fn rows(&self, columns: usize) -> Vec<TextRow> {
        let (mark, style) = match self.level {
            NoticeLevel::Info => ("· ", TextStyle::DIM),
            NoticeLevel::Warning => ("⚠ ", TextStyle::ink(Ink::Yellow)),
            NoticeLevel::Error => ("✗ ", TextStyle::ink(Ink::Red)),
        };
        let mut rows = Vec::new();
        let mut indent = Indent::mark(mark, style);
        for line in self.text.lines() {
            let span = [TextSpan::new(line, style)];
            wrap_into(&mut rows, &span, &indent, columns, WrapMode::Words);
            indent.first.clone_from(&indent.rest);
        }
        rows
    }
}
