//! What still runs or grows.

use troupe_protocol::ItemId;

use super::stream::AnswerStream;
use crate::cells::reasoning_headline;
use crate::cells::{CellBody, CellFold, head_rows, output_rows};
use crate::limits::{TAIL_BYTES_MAX, TAIL_LINES};
use crate::text::ansi::AnsiReader;
use crate::text::quantity::clock_text;
use crate::text::{TextRow, TextSpan, TextStyle};

/// An item between its beginning and its end.
#[derive(Debug, Clone, PartialEq)]
pub enum OpenItem {
    Answer {
        id: ItemId,
        stream: AnswerStream,
    },
    Plan {
        id: ItemId,
        text: String,
    },
    Reasoning {
        id: ItemId,
        text: String,
    },
    /// A command or another call: what it is, since when, and the end of what it says.
    Call {
        id: ItemId,
        verb: String,
        command: String,
        since_ms: i64,
        tail: String,
    },
    /// Shown by nothing until it is complete.
    Silent {
        id: ItemId,
    },
}

impl OpenItem {
    pub fn id(&self) -> &ItemId {
        match self {
            Self::Answer { id, .. }
            | Self::Plan { id, .. }
            | Self::Reasoning { id, .. }
            | Self::Call { id, .. }
            | Self::Silent { id } => id,
        }
    }

    /// Tells whether it stands right below the last cell.
    pub(super) fn continues(&self) -> bool {
        matches!(self, Self::Answer { stream, .. } if stream.rest().continues)
    }

    /// Keeps the end of what a call says.
    pub(super) fn add_output(&mut self, text: &str) {
        let Self::Call { tail, .. } = self else {
            return;
        };
        tail.push_str(text);
        if tail.len() > 2 * TAIL_BYTES_MAX {
            let mut from = tail.len() - TAIL_BYTES_MAX;
            while !tail.is_char_boundary(from) {
                from += 1;
            }
            tail.drain(..from);
        }
    }

    pub(super) fn rows(&self, columns: usize, now_ms: i64) -> Vec<TextRow> {
        match self {
            Self::Answer { stream, .. } => {
                CellBody::Answer(stream.rest()).rows(columns, CellFold::Folded)
            }
            Self::Plan { text, .. } => {
                let cell = crate::cells::PlanCell { text: text.clone() };
                CellBody::Plan(cell).rows(columns, CellFold::Folded)
            }
            Self::Reasoning { text, .. } => {
                let headline = reasoning_headline(text);
                let headline = if headline.is_empty() {
                    "thinking".to_owned()
                } else {
                    headline
                };
                vec![TextRow::dim(headline).ellipsis(columns)]
            }
            Self::Call {
                verb,
                command,
                since_ms,
                tail,
                ..
            } => {
                let ran = u64::try_from(now_ms - since_ms).unwrap_or(0);
                // Nothing is said of the first second, so that short calls do not flicker.
                let clock = (ran >= 1_000).then(|| TextSpan::new(clock_text(ran), TextStyle::DIM));
                let mut rows = head_rows(verb, command, clock, columns, CellFold::Folded);
                let lines: Vec<&str> = tail.lines().collect();
                let mut reader = AnsiReader::default();
                for line in &lines[lines.len().saturating_sub(TAIL_LINES)..] {
                    output_rows(&mut rows, &mut reader, line, columns, CellFold::Folded);
                }
                rows
            }
            Self::Silent { .. } => Vec::new(),
        }
    }
}
