//! Output that nobody has asked for yet. A command in the background may write for hours
//! between two looks at it: the beginning and the newest part are kept.

use std::collections::VecDeque;

use bytes::Bytes;
use troupe_process::ProcessExit;
use troupe_protocol::command::OutputStream;

use super::capture::OutputPiece;
use crate::limits::{BACKLOG_BYTES_MAX, CAPTURE_BYTES_MAX};

/// What a piece costs besides its bytes, so that a command that writes byte by byte stays
/// within the same memory.
const PIECE_BYTES: usize = 64;

#[derive(Debug, Default)]
pub(super) struct PendingOutput {
    head: Vec<OutputPiece>,
    head_bytes: usize,
    tail: VecDeque<OutputPiece>,
    tail_bytes: usize,
    omitted_bytes: usize,
    /// How many calls look at the command right now.
    pub(super) watchers: usize,
    pub(super) exit: Option<ProcessExit>,
}

impl PendingOutput {
    /// Says whether more may be read. While somebody watches, nothing is given up.
    pub(super) fn has_room(&self) -> bool {
        self.watchers == 0 || self.head_bytes + self.tail_bytes < BACKLOG_BYTES_MAX
    }

    pub(super) fn push(&mut self, piece: OutputPiece) {
        let cost = cost(&piece);
        if self.tail.is_empty() && self.head_bytes + cost <= CAPTURE_BYTES_MAX / 2 {
            self.head_bytes += cost;
            self.head.push(piece);
            return;
        }
        self.tail_bytes += cost;
        self.tail.push_back(piece);
        while self.tail_bytes > CAPTURE_BYTES_MAX / 2 {
            let Some(oldest) = self.tail.pop_front() else {
                break;
            };
            self.tail_bytes -= self::cost(&oldest);
            self.omitted_bytes += oldest.bytes.len();
        }
    }

    /// Takes what is there, with the cut stated where it was made.
    pub(super) fn take(&mut self) -> Vec<OutputPiece> {
        let mut pieces = std::mem::take(&mut self.head);
        if self.omitted_bytes > 0 {
            let note = format!("\n… {} bytes omitted …\n", self.omitted_bytes);
            pieces.push(OutputPiece {
                stream: OutputStream::Stdout,
                bytes: Bytes::from(note),
            });
        }
        pieces.extend(self.tail.drain(..));
        self.head_bytes = 0;
        self.tail_bytes = 0;
        self.omitted_bytes = 0;
        pieces
    }
}

fn cost(piece: &OutputPiece) -> usize {
    piece.bytes.len() + PIECE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(pending: &mut PendingOutput, bytes: &[u8]) {
        pending.push(OutputPiece {
            stream: OutputStream::Stdout,
            bytes: Bytes::copy_from_slice(bytes),
        });
    }

    fn text(pending: &mut PendingOutput) -> Vec<u8> {
        let pieces = pending.take();
        pieces
            .iter()
            .flat_map(|piece| piece.bytes.to_vec())
            .collect()
    }

    #[test]
    fn what_fits_comes_back_whole_and_once() {
        let mut pending = PendingOutput::default();
        push(&mut pending, b"one ");
        push(&mut pending, b"two");
        assert_eq!(text(&mut pending), b"one two");
        assert_eq!(text(&mut pending), b"");
    }

    #[test]
    fn the_middle_is_given_up_and_counted() {
        let mut pending = PendingOutput::default();
        let written = 4 * CAPTURE_BYTES_MAX;
        for number in 0..written / 1024 {
            push(&mut pending, format!("{number:01024}").as_bytes());
        }
        let kept = text(&mut pending);
        let shown = String::from_utf8(kept).unwrap();
        let note = shown.find("… ").unwrap();
        let omitted: usize = shown[note + "… ".len()..]
            .split(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        let note_bytes = format!("\n… {omitted} bytes omitted …\n").len();
        assert_eq!(shown.len() - note_bytes + omitted, written);
        assert!(shown.ends_with(&format!("{:04}", written / 1024 - 1)));
    }

    #[test]
    fn single_bytes_do_not_cost_more_memory() {
        let mut pending = PendingOutput::default();
        for _ in 0..CAPTURE_BYTES_MAX {
            push(&mut pending, b"x");
        }
        assert!(pending.take().len() <= CAPTURE_BYTES_MAX / PIECE_BYTES + 1);
    }
}
