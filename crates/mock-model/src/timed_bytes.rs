//! The bytes of a response with the pauses and accidents between them. Everything is
//! rendered before the first byte is sent, so playing costs no more than sending.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use futures_util::stream;
use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::limits::WRITE_BYTES;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TimedSegment {
    Bytes(Bytes),
    Pause(Duration),
    /// Nothing more comes.
    Stall,
    /// The connection breaks.
    Cut,
}

/// Collects segments; events are gathered into large writes.
#[derive(Debug, Default)]
pub(crate) struct TimedBytes {
    segments: Vec<TimedSegment>,
    written: Vec<u8>,
}

impl TimedBytes {
    /// Adds an event with a name.
    pub(crate) fn event(&mut self, name: &str, data: &impl Serialize) {
        self.written.extend_from_slice(b"event: ");
        self.written.extend_from_slice(name.as_bytes());
        self.written.push(b'\n');
        self.data(data);
    }

    /// Adds an event without a name.
    pub(crate) fn data(&mut self, data: &impl Serialize) {
        self.written.extend_from_slice(b"data: ");
        serde_json::to_writer(&mut self.written, data)
            .expect("wire types have string keys, and writing to memory does not fail");
        self.written.extend_from_slice(b"\n\n");
        self.flush_full();
    }

    /// Adds an event whose data is any text.
    pub(crate) fn raw(&mut self, data: &str) {
        for line in data.split('\n') {
            self.written.extend_from_slice(b"data: ");
            self.written.extend_from_slice(line.as_bytes());
            self.written.push(b'\n');
        }
        self.written.push(b'\n');
    }

    /// Repeats what `one` writes. Whole blocks are shared, so a load test with very many
    /// deltas holds only a few of them.
    pub(crate) fn repeat(&mut self, times: usize, one: impl FnOnce(&mut Self)) {
        self.flush();
        one(self);
        let single = std::mem::take(&mut self.written);
        let per_block = (WRITE_BYTES / single.len().max(1)).max(1);
        let block = Bytes::from(single.repeat(per_block.min(times)));
        for _ in 0..times / per_block {
            self.segments.push(TimedSegment::Bytes(block.clone()));
        }
        self.segments.push(TimedSegment::Bytes(
            block.slice(..single.len() * (times % per_block)),
        ));
    }

    pub(crate) fn add(&mut self, segment: TimedSegment) {
        self.flush();
        self.segments.push(segment);
    }

    pub(crate) fn finish(mut self) -> Vec<TimedSegment> {
        self.flush();
        self.segments
    }

    fn flush_full(&mut self) {
        if self.written.len() >= WRITE_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if !self.written.is_empty() {
            let bytes = std::mem::take(&mut self.written).into();
            self.segments.push(TimedSegment::Bytes(bytes));
        }
    }
}

/// One playback of timed bytes to one client.
pub(crate) struct TimedPlayback {
    segments: std::vec::IntoIter<TimedSegment>,
    /// What is left of the segment being sent in small pieces.
    rest: Bytes,
    chunk_bytes: Option<usize>,
    stop: CancellationToken,
    presence: AbandonCounter,
}

/// Counts the clients that left before the end.
struct AbandonCounter {
    abandoned: Arc<watch::Sender<usize>>,
    ended: bool,
}

impl Drop for AbandonCounter {
    fn drop(&mut self) {
        if !self.ended {
            self.abandoned.send_modify(|count| *count += 1);
        }
    }
}

impl TimedPlayback {
    pub(crate) fn new(
        segments: Vec<TimedSegment>,
        chunk_bytes: Option<usize>,
        stop: CancellationToken,
        abandoned: Arc<watch::Sender<usize>>,
    ) -> Self {
        Self {
            segments: segments.into_iter(),
            rest: Bytes::new(),
            chunk_bytes,
            stop,
            presence: AbandonCounter {
                abandoned,
                ended: false,
            },
        }
    }

    pub(crate) fn into_stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        stream::unfold(self, |mut playback| async move {
            let bytes = playback.next().await?;
            Some((bytes, playback))
        })
    }

    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if self.presence.ended {
            return None;
        }
        if !self.rest.is_empty() {
            // Lets the server write the last piece before it gets the next.
            tokio::task::yield_now().await;
            return Some(Ok(self.next_piece()));
        }
        loop {
            match self.segments.next() {
                None => {
                    self.presence.ended = true;
                    return None;
                }
                Some(TimedSegment::Bytes(bytes)) if bytes.is_empty() => {}
                Some(TimedSegment::Bytes(bytes)) => {
                    self.rest = bytes;
                    return Some(Ok(self.next_piece()));
                }
                Some(TimedSegment::Pause(pause)) => {
                    let stop = self.stop.clone();
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = stop.cancelled() => return Some(Err(self.cut("the server stops"))),
                    }
                }
                Some(TimedSegment::Stall) => {
                    self.stop.clone().cancelled().await;
                    return Some(Err(self.cut("the server stops")));
                }
                Some(TimedSegment::Cut) => {
                    // What was written before goes out first.
                    tokio::task::yield_now().await;
                    return Some(Err(self.cut("the screenplay drops the connection")));
                }
            }
        }
    }

    fn next_piece(&mut self) -> Bytes {
        let size = self.chunk_bytes.unwrap_or(usize::MAX);
        let size = size.min(self.rest.len());
        self.rest.split_to(size)
    }

    fn cut(&mut self, why: &str) -> io::Error {
        self.presence.ended = true;
        io::Error::new(io::ErrorKind::ConnectionAborted, why)
    }
}
