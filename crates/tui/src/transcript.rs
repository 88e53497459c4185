//! A conversation as a list of cells: the fold of one agent's events.
//!
//! ```text
//! events ──► open items (still change) ──finished──► cells (never change, only grow in number)
//! ```
//!
//! Cells stand in the order in which they were finished, so whoever has printed the first `n`
//! of them never has to print any of those again. The stable part of an answer that still grows
//! becomes cells before its end.

mod fold;
mod open;
mod stream;

use std::cell::Cell;
use std::collections::BTreeMap;

use troupe_protocol::SessionId;

use crate::cells::{CellBody, CellFold};
use crate::text::TextRow;

pub use open::OpenItem;

/// A finished cell, with what is known of its height.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptCell {
    pub body: CellBody,
    /// It stands right below the one above.
    pub joined: bool,
    /// The user unfolded it.
    pub unfolded: bool,
    /// Rows at a width, as measured last; an empty row above included.
    height: Cell<Option<(usize, CellFold, usize)>>,
}

impl TranscriptCell {
    /// Returns its rows with the empty row above.
    pub fn rows(&self, columns: usize, fold: CellFold) -> Vec<TextRow> {
        let mut rows = Vec::new();
        if !self.joined {
            rows.push(TextRow::new());
        }
        rows.extend(self.body.rows(columns, self.fold(fold)));
        self.height
            .set(Some((columns, self.fold(fold), rows.len())));
        rows
    }

    /// Returns the number of its rows without laying it out again.
    pub fn height(&self, columns: usize, fold: CellFold) -> usize {
        match self.height.get() {
            Some((width, known, height)) if width == columns && known == self.fold(fold) => height,
            _ => self.rows(columns, fold).len(),
        }
    }

    /// Tells whether it has more than is shown of it, or was unfolded.
    pub fn is_foldable(&self, columns: usize) -> bool {
        let height = |fold| self.body.rows(columns, fold).len();
        self.unfolded || height(CellFold::Whole) > height(CellFold::Folded)
    }

    fn fold(&self, fold: CellFold) -> CellFold {
        if self.unfolded { CellFold::Whole } else { fold }
    }
}

/// One agent's conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Transcript {
    cells: Vec<TranscriptCell>,
    open: Vec<OpenItem>,
    /// What the sessions of agents are called.
    names: BTreeMap<SessionId, String>,
}

impl Transcript {
    pub fn cells(&self) -> &[TranscriptCell] {
        &self.cells
    }

    /// Returns what runs, in the order in which it began.
    pub fn open(&self) -> &[OpenItem] {
        &self.open
    }

    /// Has an agent be called by its name from now on.
    pub fn know(&mut self, session: SessionId, name: &str) {
        self.names.insert(session, name.to_owned());
    }

    pub fn push(&mut self, body: CellBody) {
        let joined = self
            .cells
            .last()
            .is_some_and(|above| body.joins(&above.body));
        self.cells.push(TranscriptCell {
            body,
            joined,
            unfolded: false,
            height: Cell::new(None),
        });
    }

    /// Unfolds a cell, or folds it again.
    pub fn toggle(&mut self, number: usize) {
        if let Some(cell) = self.cells.get_mut(number) {
            cell.unfolded = !cell.unfolded;
        }
    }

    /// Makes cells of the stable parts of what grows. Called before a frame and not for each
    /// piece, so that the cost is that of frames.
    pub fn settle(&mut self) {
        let mut settled = Vec::new();
        for item in &mut self.open {
            if let OpenItem::Answer { stream, .. } = item {
                settled.extend(stream.settle());
            }
        }
        for body in settled {
            self.push(body);
        }
    }

    /// Returns the rows of what is still open. An answer's stable part is not among them.
    pub fn live_rows(&self, columns: usize, now_ms: i64) -> Vec<TextRow> {
        let mut rows = Vec::new();
        for item in &self.open {
            let item_rows = item.rows(columns, now_ms);
            if item_rows.is_empty() {
                continue;
            }
            if !item.continues() {
                rows.push(TextRow::new());
            }
            rows.extend(item_rows);
        }
        rows
    }

    /// Returns the source of the newest answer, whole.
    pub fn last_answer(&self) -> Option<String> {
        let last = self
            .cells
            .iter()
            .rposition(|cell| matches!(cell.body, CellBody::Answer(_)))?;
        let begins = |cell: &TranscriptCell| match &cell.body {
            CellBody::Answer(answer) => answer.begins,
            _ => false,
        };
        let first = self.cells[..=last].iter().rposition(begins)?;
        let parts = self.cells[first..=last].iter();
        let parts = parts.filter(|cell| matches!(cell.body, CellBody::Answer(_)));
        Some(parts.map(|cell| cell.body.source()).collect())
    }
}
