//! The full-screen sink: the alternate screen, for overlays and for who wants no scrollback.

use std::fmt::Write as _;

use super::ScreenFrame;
use super::paint::{BEGIN_UPDATE, END_UPDATE, HIDE_CURSOR, PaintPalette, SHOW_CURSOR};
use crate::text::TextRow;

/// Enters and leaves the alternate screen. Entering twice would lose what is behind it, so only
/// [`FullSink`] writes these.
const ENTER: &str = "\x1b[?1049h";
pub const LEAVE: &str = "\x1b[?1049l";

/// What stands on the alternate screen.
#[derive(Debug, Clone)]
pub struct FullSink {
    palette: PaintPalette,
    is_entered: bool,
    painted: Vec<TextRow>,
    last: Option<ScreenFrame>,
}

impl FullSink {
    pub fn new(palette: PaintPalette) -> Self {
        Self {
            palette,
            is_entered: false,
            painted: Vec::new(),
            last: None,
        }
    }

    pub fn is_entered(&self) -> bool {
        self.is_entered
    }

    pub fn set_palette(&mut self, palette: PaintPalette) {
        self.palette = palette;
        self.invalidate();
    }

    /// Draws everything again with the next frame: the size is another, or the screen was not
    /// ours for a while.
    pub fn invalidate(&mut self) {
        self.last = None;
        self.painted.clear();
    }

    /// Shows a frame, which has as many rows as the screen.
    pub fn paint(&mut self, frame: &ScreenFrame, out: &mut String) {
        if self.is_entered && self.last.as_ref() == Some(frame) {
            return;
        }
        out.push_str(BEGIN_UPDATE);
        out.push_str(HIDE_CURSOR);
        if !self.is_entered {
            out.push_str(ENTER);
            self.is_entered = true;
            self.painted.clear();
        }
        for (number, row) in frame.rows.iter().enumerate() {
            let old = self.painted.get(number);
            if old == Some(row) {
                continue;
            }
            write!(out, "\x1b[{};1H", number + 1).expect("a String takes any text");
            match old {
                Some(old) => self.palette.write_difference(out, old, row),
                None => self.palette.write_row(out, row),
            }
        }
        self.painted.clone_from(&frame.rows);
        if let Some(cursor) = frame.cursor {
            write!(
                out,
                "\x1b[{};{}H{SHOW_CURSOR}",
                cursor.row + 1,
                cursor.column + 1
            )
            .expect("a String takes any text");
        }
        out.push_str(END_UPDATE);
        self.last = Some(frame.clone());
    }

    /// Shows what was there before.
    pub fn leave(&mut self, out: &mut String) {
        if self.is_entered {
            self.is_entered = false;
            self.invalidate();
            out.push_str(LEAVE);
            out.push_str(SHOW_CURSOR);
        }
    }
}
