//! A text, cut anywhere.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// Cuts bytes at places that follow from the bytes themselves, so that an input fails the same
/// way each time.
pub(super) fn cut(bytes: &[u8]) -> Vec<&[u8]> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    let mut state = bytes.len() as u64;
    while !rest.is_empty() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(u64::from(rest[0]) + 1);
        let size = match (state >> 33) % 4 {
            0 => 1,
            1 => 2,
            2 => 3 + (state >> 40) as usize % 13,
            _ => 16 + (state >> 40) as usize % 200,
        };
        let (piece, after) = rest.split_at(size.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Cuts a text between characters.
pub(super) fn cut_text(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for piece in cut(text.as_bytes()) {
        let end = piece.as_ptr() as usize - text.as_ptr() as usize + piece.len();
        let end = text.ceil_char_boundary(end);
        if end > start {
            pieces.push(&text[start..end]);
            start = end;
        }
    }
    pieces
}

/// A source that hands out one piece per read.
#[derive(Debug)]
pub(super) struct Pieces<'a>(std::vec::IntoIter<&'a [u8]>);

impl<'a> Pieces<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self(cut(bytes).into_iter())
    }
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if let Some(piece) = self.0.as_slice().first() {
            let size = piece.len().min(buffer.remaining());
            buffer.put_slice(&piece[..size]);
            let rest = &piece[size..];
            self.0.next();
            if !rest.is_empty() {
                let rest: Vec<&[u8]> = std::iter::once(rest).chain(self.0.by_ref()).collect();
                self.0 = rest.into_iter();
            }
        }
        Poll::Ready(Ok(()))
    }
}
