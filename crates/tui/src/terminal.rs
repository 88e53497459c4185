//! The terminal: its modes, the bytes that come from it, and the sinks that write to it.

pub mod attention;
pub mod device;
pub mod full;
pub mod inline;
pub mod input;
pub mod paint;
pub mod plain;

use crate::text::TextRow;

pub use device::TerminalDevice;

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenSize {
    pub columns: usize,
    pub rows: usize,
}

/// What is to be seen, from the top of the screen or of the viewport.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScreenFrame {
    pub rows: Vec<TextRow>,
    pub cursor: Option<CursorPlace>,
}

/// Where the cursor stands, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorPlace {
    pub row: usize,
    pub column: usize,
}
