//! Messages, and byte streams that come in pieces.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use troupe_protocol::event::TextDelta;
use troupe_protocol::{Event, EventMsg, Op, SessionId, Submission};

pub fn note(id: &str, note: &str) -> Submission {
    Submission {
        id: id.into(),
        op: Op::SetThreadNote { note: note.into() },
    }
}

pub fn warning(seq: u64, message: &str) -> Event {
    Event {
        id: "1".into(),
        seq,
        msg: EventMsg::Warning {
            message: message.into(),
        },
    }
}

pub fn delta(seq: u64) -> Event {
    Event {
        id: "1".into(),
        seq,
        msg: EventMsg::AgentMessageContentDelta(TextDelta {
            thread_id: SessionId(uuid_of(seq)),
            turn_id: "1".into(),
            item_id: "msg_1".into(),
            delta: "word ".into(),
            snapshot: false,
        }),
    }
}

fn uuid_of(seq: u64) -> uuid::Uuid {
    uuid::Uuid::from_u64_pair(0, seq)
}

/// A source that hands out its bytes in pieces of the given sizes, over and over.
pub struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    sizes: std::iter::Cycle<std::vec::IntoIter<usize>>,
}

impl Pieces {
    pub fn new(bytes: Vec<u8>, sizes: Vec<usize>) -> Self {
        Self {
            bytes,
            at: 0,
            sizes: sizes.into_iter().cycle(),
        }
    }
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let rest = self.bytes.len() - self.at;
        let size = self.sizes.next().unwrap_or(rest);
        let end = self.at + size.min(rest).min(buffer.remaining());
        buffer.put_slice(&self.bytes[self.at..end]);
        self.at = end;
        Poll::Ready(Ok(()))
    }
}
