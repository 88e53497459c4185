//! Rows: what views return, and sinks write.

use super::clean::clean;
use super::style::TextStyle;
use super::width::{fitting, shortened, text_width};

/// Text of one style, clean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextSpan {
    pub text: String,
    pub style: TextStyle,
}

impl TextSpan {
    /// Cleans the text.
    pub fn new(text: impl AsRef<str>, style: TextStyle) -> Self {
        Self {
            text: clean(text.as_ref()).into_owned(),
            style,
        }
    }
}

/// Whether a row has a background of its own, to its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RowShade {
    #[default]
    None,
    Block,
}

/// One row of the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextRow {
    pub spans: Vec<TextSpan>,
    pub shade: RowShade,
}

impl TextRow {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn plain(text: impl AsRef<str>) -> Self {
        Self::styled(text, TextStyle::PLAIN)
    }

    pub fn dim(text: impl AsRef<str>) -> Self {
        Self::styled(text, TextStyle::DIM)
    }

    pub fn styled(text: impl AsRef<str>, style: TextStyle) -> Self {
        Self::new().with(text, style)
    }

    #[must_use]
    pub fn with(mut self, text: impl AsRef<str>, style: TextStyle) -> Self {
        self.push(clean(text.as_ref()).as_ref(), style);
        self
    }

    #[must_use]
    pub fn shaded(mut self) -> Self {
        self.shade = RowShade::Block;
        self
    }

    /// Adds clean text.
    pub fn push(&mut self, text: &str, style: TextStyle) {
        match self.spans.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.style == style => last.text.push_str(text),
            _ => self.spans.push(TextSpan {
                text: text.to_owned(),
                style,
            }),
        }
    }

    pub fn append(&mut self, other: Self) {
        for span in other.spans {
            self.push(&span.text, span.style);
        }
    }

    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| text_width(&span.text)).sum()
    }

    /// Returns the text alone.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Returns the row, with everything beyond the columns left out.
    #[must_use]
    pub fn cut(mut self, columns: usize) -> Self {
        let mut left = columns;
        for at in 0..self.spans.len() {
            let span = &mut self.spans[at];
            let (kept, used) = fitting(&span.text, left);
            if kept.len() < span.text.len() {
                let kept = kept.len();
                span.text.truncate(kept);
                self.spans.truncate(at + 1);
                break;
            }
            left -= used;
        }
        self
    }

    /// Returns a row of these columns with one text at its left and another at its right. The
    /// left gives way.
    pub fn justified(left: Self, right: Self, columns: usize) -> Self {
        let room = columns.saturating_sub(right.width() + 1);
        let mut row = if left.width() > room {
            left.ellipsis(room)
        } else {
            left
        };
        let gap = columns.saturating_sub(row.width() + right.width());
        row.push(&" ".repeat(gap), TextStyle::PLAIN);
        row.append(right);
        row.cut(columns)
    }

    /// As [`Self::cut`], with `…` in the place of what does not fit.
    #[must_use]
    pub fn ellipsis(self, columns: usize) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut row = self.cut(columns.saturating_sub(1));
        let style = row.spans.last().map_or(TextStyle::PLAIN, |span| span.style);
        row.push(&shortened("……", columns.min(1)), style);
        row
    }

    /// Returns the row with spaces up to the columns.
    #[must_use]
    pub fn padded(mut self, columns: usize) -> Self {
        let gap = columns.saturating_sub(self.width());
        self.push(&" ".repeat(gap), TextStyle::PLAIN);
        self
    }
}
