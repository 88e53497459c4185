//! The inline sink: history goes to the terminal's own scrollback, once; below it stands a small
//! viewport.
//!
//! ```text
//! │ history, the terminal's own     │
//! ├─ first row of the viewport ─────┤ ◄── new history is printed from here on, over the
//! │ viewport                        │     viewport, which is painted again below it
//! └─────────────────────────────────┘
//! ```
//!
//! The sink never asks where it is. It knows how many rows above the cursor its viewport begins,
//! goes up that far, prints rows with line ends, and has the screen scroll as it scrolls for any
//! program. No region, no `CSI S`, no erasing of the screen: terminals lose or repeat lines by
//! those.

use std::fmt::Write as _;

use super::paint::{BEGIN_UPDATE, END_UPDATE, HIDE_CURSOR, PaintPalette, SHOW_CURSOR};
use super::{ScreenFrame, ScreenSize};
use crate::text::TextRow;

/// What stands in the terminal.
#[derive(Debug, Clone)]
pub struct InlineSink {
    palette: PaintPalette,
    size: ScreenSize,
    painted: Vec<TextRow>,
    /// The row of the viewport in which the cursor is.
    cursor_row: usize,
    /// Nothing of what stands there can be relied on but where it begins.
    is_stale: bool,
    /// Whether the terminal breaks rows that became too long for a narrower screen.
    reflows: bool,
    is_cursor_hidden: bool,
    last: Option<ScreenFrame>,
}

impl InlineSink {
    pub fn new(palette: PaintPalette, size: ScreenSize, reflows: bool) -> Self {
        Self {
            palette,
            size,
            painted: Vec::new(),
            cursor_row: 0,
            is_stale: false,
            reflows,
            is_cursor_hidden: false,
            last: None,
        }
    }

    /// Tells the sink of a new size, before the next frame.
    pub fn resize(&mut self, size: ScreenSize) {
        if self.reflows && size.columns < self.size.columns {
            let above = self.painted.iter().take(self.cursor_row);
            let broken = above.map(|row| row.width().saturating_sub(1) / size.columns.max(1));
            self.cursor_row += broken.sum::<usize>();
        }
        // What was pushed beyond the top is out of reach.
        self.cursor_row = self.cursor_row.min(size.rows.saturating_sub(1));
        self.size = size;
        self.is_stale = true;
    }

    pub fn set_palette(&mut self, palette: PaintPalette) {
        self.palette = palette;
        self.invalidate();
    }

    /// Draws everything again with the next frame.
    pub fn invalidate(&mut self) {
        self.is_stale = true;
    }

    /// Writes new history and a frame, which has no more rows than the screen.
    pub fn paint(&mut self, history: &[TextRow], frame: &ScreenFrame, out: &mut String) {
        if history.is_empty() && !self.is_stale && self.last.as_ref() == Some(frame) {
            return;
        }
        debug_assert!(
            frame.rows.len() <= self.size.rows.max(1),
            "a frame fits the screen"
        );
        out.push_str(BEGIN_UPDATE);
        let same_place = frame.rows.len() == self.painted.len() && !self.is_stale;
        if history.is_empty() && same_place {
            let pairs = self.painted.iter().zip(&frame.rows);
            // One row, a letter or the clock, is written without a flicker.
            if frame.cursor.is_none() || pairs.filter(|(old, new)| old != new).count() > 1 {
                self.hide_cursor(out);
            }
            self.paint_differences(frame, out);
        } else {
            self.hide_cursor(out);
            self.paint_all(history, frame, out);
        }
        self.painted.clone_from(&frame.rows);
        self.is_stale = false;
        self.place_cursor(frame, out);
        out.push_str(END_UPDATE);
        self.last = Some(frame.clone());
    }

    /// Takes the viewport off the screen; the cursor stays where it began.
    pub fn leave(&mut self, out: &mut String) {
        out.push_str(BEGIN_UPDATE);
        self.paint_all(&[], &ScreenFrame::default(), out);
        self.painted.clear();
        self.last = None;
        self.is_cursor_hidden = false;
        out.push_str(SHOW_CURSOR);
        out.push_str(END_UPDATE);
    }

    fn paint_differences(&mut self, frame: &ScreenFrame, out: &mut String) {
        for (number, (old, new)) in self.painted.iter().zip(&frame.rows).enumerate() {
            if old != new {
                go(out, self.cursor_row, number);
                self.cursor_row = number;
                self.palette.write_difference(out, old, new);
            }
        }
    }

    fn paint_all(&mut self, history: &[TextRow], frame: &ScreenFrame, out: &mut String) {
        go(out, self.cursor_row, 0);
        out.push('\r');
        for row in history {
            self.palette.write_row(out, row);
            out.push_str("\r\n");
        }
        for (number, row) in frame.rows.iter().enumerate() {
            if number > 0 {
                out.push_str("\r\n");
            }
            self.palette.write_row(out, row);
        }
        let written = history.len() + frame.rows.len();
        let left = self.painted.len().saturating_sub(written.max(1));
        self.cursor_row = frame.rows.len().saturating_sub(1);
        if frame.rows.is_empty() {
            out.push_str("\r\x1b[K");
        }
        for _ in 0..left {
            out.push_str("\r\n\x1b[K");
        }
        go(out, left, 0);
    }

    fn place_cursor(&mut self, frame: &ScreenFrame, out: &mut String) {
        let Some(cursor) = frame.cursor else {
            return;
        };
        go(out, self.cursor_row, cursor.row);
        self.cursor_row = cursor.row;
        write!(out, "\x1b[{}G", cursor.column + 1).expect("a String takes any text");
        if std::mem::take(&mut self.is_cursor_hidden) {
            out.push_str(SHOW_CURSOR);
        }
    }

    fn hide_cursor(&mut self, out: &mut String) {
        if !std::mem::replace(&mut self.is_cursor_hidden, true) {
            out.push_str(HIDE_CURSOR);
        }
    }
}

/// Moves between rows that are there.
fn go(out: &mut String, from: usize, to: usize) {
    let moved = match from.cmp(&to) {
        std::cmp::Ordering::Greater => write!(out, "\x1b[{}A", from - to),
        std::cmp::Ordering::Less => write!(out, "\x1b[{}B", to - from),
        std::cmp::Ordering::Equal => Ok(()),
    };
    moved.expect("a String takes any text");
}

#[cfg(test)]
mod tests;
