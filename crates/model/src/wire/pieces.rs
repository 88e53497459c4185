//! A request body made of shared pieces: sending a long history again copies nothing
//! large and encodes nothing twice.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Frame, SizeHint};
use serde::Serialize;

use crate::limits::{BODY_PIECE_COPIED_BYTES_MAX, BODY_WRITE_BYTES};

/// Pieces of glue in a usual body: before the items, between them and the tools, at the end.
const GLUE_PIECES: usize = 4;

/// A finished body. Cheap to clone, so that a retry sends the same bytes.
#[derive(Debug, Clone)]
pub(crate) struct BodyPieces {
    list: Arc<Vec<Bytes>>,
    bytes: u64,
}

impl BodyPieces {
    pub(crate) fn body(&self) -> PiecesBody {
        PiecesBody {
            list: self.list.clone(),
            next: 0,
            remaining: self.bytes,
        }
    }

    #[cfg(test)]
    pub(crate) fn to_text(&self) -> String {
        String::from_utf8(self.list.concat()).unwrap()
    }
}

/// Collects pieces: glue is gathered, shared bytes are referred to.
#[derive(Debug, Default)]
pub(crate) struct BodyBuilder {
    list: Vec<Bytes>,
    glue: Vec<u8>,
}

impl BodyBuilder {
    /// Leaves room for so many shared pieces and what holds them together.
    pub(crate) fn with_room_for(shared: usize) -> Self {
        Self {
            list: Vec::with_capacity(shared + GLUE_PIECES),
            glue: Vec::new(),
        }
    }

    pub(crate) fn glue(&mut self, text: &str) {
        self.glue.extend_from_slice(text.as_bytes());
    }

    pub(crate) fn json(&mut self, value: &(impl Serialize + ?Sized)) {
        write_json(&mut self.glue, value);
    }

    pub(crate) fn share(&mut self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        if !self.glue.is_empty() {
            self.list.push(std::mem::take(&mut self.glue).into());
        }
        self.list.push(piece);
    }

    pub(crate) fn finish(mut self) -> BodyPieces {
        if !self.glue.is_empty() {
            self.list.push(self.glue.into());
        }
        let bytes = self.list.iter().map(|piece| piece.len() as u64).sum();
        BodyPieces {
            list: Arc::new(self.list),
            bytes,
        }
    }
}

/// The elements of a JSON array. Cached fragments begin with a comma, which the first one
/// leaves out: so they join without pieces in between.
#[derive(Debug, Default)]
pub(crate) struct ArrayElements {
    begun: bool,
}

impl ArrayElements {
    pub(crate) fn push(&mut self, builder: &mut BodyBuilder, fragment: &Bytes) {
        if fragment.is_empty() {
            return;
        }
        let skip = usize::from(!self.begun);
        self.begun = true;
        builder.share(fragment.slice(skip..));
    }
}

/// Encodes a value as an array element for [`ArrayElements`].
pub(crate) fn fragment(value: &(impl Serialize + ?Sized)) -> Bytes {
    let mut bytes = vec![b','];
    write_json(&mut bytes, value);
    bytes.into()
}

pub(crate) fn write_json(out: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(out, value)
        .expect("wire types have string keys, and writing to memory does not fail");
}

/// One sending of [`BodyPieces`], with its exact size known beforehand.
#[derive(Debug)]
pub(crate) struct PiecesBody {
    list: Arc<Vec<Bytes>>,
    next: usize,
    remaining: u64,
}

impl PiecesBody {
    /// Takes the next large piece as it is, or small ones gathered for one write.
    fn next_data(&mut self) -> Option<Bytes> {
        let first = self.list.get(self.next)?.clone();
        self.next += 1;
        if first.len() > BODY_PIECE_COPIED_BYTES_MAX || self.next == self.list.len() {
            return Some(first);
        }
        let mut gathered = BytesMut::from(first);
        while let Some(piece) = self.list.get(self.next) {
            if piece.len() > BODY_PIECE_COPIED_BYTES_MAX
                || gathered.len() + piece.len() > BODY_WRITE_BYTES
            {
                break;
            }
            gathered.extend_from_slice(piece);
            self.next += 1;
        }
        Some(gathered.freeze())
    }
}

impl http_body::Body for PiecesBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = self.next_data();
        if let Some(data) = &data {
            self.remaining -= data.len() as u64;
        }
        Poll::Ready(data.map(|data| Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use http_body::Body;

    use super::*;

    /// Sends everything and returns the sizes of the writes.
    fn send(pieces: &BodyPieces) -> (Vec<usize>, Vec<u8>) {
        let mut body = pieces.body();
        let mut cx = Context::from_waker(Waker::noop());
        let (mut sizes, mut sent) = (Vec::new(), Vec::new());
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut cx) {
            let data = frame.into_data().unwrap();
            sizes.push(data.len());
            sent.extend_from_slice(&data);
        }
        assert!(body.is_end_stream());
        (sizes, sent)
    }

    #[test]
    fn small_pieces_travel_together_and_large_ones_are_not_copied() {
        let large = Bytes::from(vec![b'L'; BODY_PIECE_COPIED_BYTES_MAX + 1]);
        let mut builder = BodyBuilder::default();
        builder.glue("[");
        builder.share(Bytes::from_static(b"1"));
        builder.share(Bytes::from_static(b",2"));
        builder.share(large.clone());
        builder.glue("]");
        let pieces = builder.finish();

        assert_eq!(
            pieces.body().size_hint().exact(),
            Some(large.len() as u64 + 5)
        );
        let (sizes, sent) = send(&pieces);
        assert_eq!(sizes, [4, large.len(), 1]);
        assert_eq!(sent, [b"[1,2", large.as_ref(), b"]"].concat());
        assert_eq!(send(&pieces).1, sent, "a retry sends the same bytes");
    }
}
