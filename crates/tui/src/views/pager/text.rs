//! A long text by its cells. What nobody looks at is not laid out: a place is a cell and a row of
//! it, so that a conversation of any length is opened, scrolled and resized at the cost of what is
//! seen.

use std::borrow::Cow;

use crate::cells::{CellBody, CellFold};
use crate::text::TextRow;
use crate::transcript::{Transcript, TranscriptCell};

/// A row of a long text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextPlace {
    pub cell: usize,
    pub row: usize,
}

impl TextPlace {
    /// Returns how far it is from the beginning, in percent of the way to the last place.
    pub(super) fn percent_of(self, last: Self) -> usize {
        if self >= last {
            return 100;
        }
        match last.cell {
            0 => self.row * 100 / last.row.max(1),
            cells => (self.cell * 100 / cells).min(99),
        }
    }
}

/// The cells of a text, and last what still grows. A text that is no transcript is only that.
pub(super) struct PagerText<'a> {
    cells: &'a [TranscriptCell],
    rest: Vec<TextRow>,
    columns: usize,
}

impl<'a> PagerText<'a> {
    pub(super) fn of_rows(rows: Vec<TextRow>, columns: usize) -> Self {
        Self {
            cells: &[],
            rest: rows,
            columns,
        }
    }

    pub(super) fn of_transcript(transcript: &'a Transcript, columns: usize, now_ms: i64) -> Self {
        Self {
            cells: transcript.cells(),
            rest: transcript.live_rows(columns, now_ms),
            columns,
        }
    }

    fn height(&self, cell: usize) -> usize {
        match self.cells.get(cell) {
            Some(cell) => cell.height(self.columns, CellFold::Folded),
            None => self.rest.len(),
        }
    }

    fn rows(&self, cell: usize) -> Cow<'_, [TextRow]> {
        match self.cells.get(cell) {
            Some(cell) => Cow::Owned(cell.rows(self.columns, CellFold::Folded)),
            None => Cow::Borrowed(&self.rest),
        }
    }

    /// Returns the first row that is shown where the last one is at the bottom.
    pub(super) fn last_place(&self, room: usize) -> TextPlace {
        let mut needed = room;
        for cell in (0..=self.cells.len()).rev() {
            let height = self.height(cell);
            if height >= needed {
                let row = height - needed;
                return TextPlace { cell, row };
            }
            needed -= height;
        }
        TextPlace::default()
    }

    /// Returns the place so many rows further on, or back.
    pub(super) fn moved(&self, from: TextPlace, rows: i64) -> TextPlace {
        let mut place = from;
        let mut left = usize::try_from(rows.unsigned_abs()).unwrap_or(usize::MAX);
        if rows < 0 {
            while left > place.row {
                let Some(above) = place.cell.checked_sub(1) else {
                    return TextPlace::default();
                };
                left -= place.row;
                place = TextPlace {
                    cell: above,
                    row: self.height(above),
                };
            }
            place.row -= left;
            return place;
        }
        loop {
            let below = self.height(place.cell).saturating_sub(place.row);
            if left < below || place.cell >= self.cells.len() {
                place.row += left;
                return place;
            }
            left -= below;
            place = TextPlace {
                cell: place.cell + 1,
                row: 0,
            };
        }
    }

    /// Returns so many rows from a place on.
    pub(super) fn slice(&self, from: TextPlace, count: usize) -> Vec<TextRow> {
        let mut rows = Vec::new();
        let mut skip = from.row;
        for cell in from.cell..=self.cells.len() {
            rows.extend(self.rows(cell).iter().skip(skip).cloned());
            skip = 0;
            if rows.len() >= count {
                break;
            }
        }
        rows.truncate(count);
        rows
    }

    /// Returns the next row below a place that has what is searched for.
    pub(super) fn find(&self, from: TextPlace, wanted: &str) -> Option<TextPlace> {
        let wanted = wanted.to_lowercase();
        let mut skip = from.row + 1;
        for cell in from.cell..=self.cells.len() {
            if self.may_have(cell, &wanted) {
                let rows = self.rows(cell);
                let mut rows = rows.iter().enumerate().skip(skip);
                let found = rows.find(|(_, row)| row.text().to_lowercase().contains(&wanted));
                if let Some((row, _)) = found {
                    return Some(TextPlace { cell, row });
                }
            }
            skip = 0;
        }
        None
    }

    /// Tells whether a cell is worth laying out. Answers are most of a conversation, and every
    /// word of theirs stands in their source.
    fn may_have(&self, cell: usize, wanted: &str) -> bool {
        let Some(CellBody::Answer(answer)) = self.cells.get(cell).map(|cell| &cell.body) else {
            return true;
        };
        let words = wanted.split(|letter: char| !letter.is_alphanumeric());
        let word = words.max_by_key(|word| word.len()).unwrap_or_default();
        let source = answer.source.as_bytes();
        if word.is_ascii() {
            let mut windows = source.windows(word.len().max(1));
            return word.is_empty()
                || windows.any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
        }
        answer.source.to_lowercase().contains(word)
    }
}

#[cfg(test)]
mod tests;
