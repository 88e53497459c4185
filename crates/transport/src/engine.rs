//! The engine's end: submissions come in, events go out.

use std::borrow::Borrow;
use std::io;
use std::pin::pin;

use futures_core::Stream;
use futures_util::{FutureExt, StreamExt};
use tokio::io::{AsyncRead, AsyncWrite};
use troupe_protocol::{Event, Submission};

use crate::decode::{decode, too_long};
use crate::limits::LINE_BYTES_MAX;
use crate::line::{LineReader, ReceivedLine};
use crate::refusal::LineRefusal;
use crate::write::{LineWriter, WriteError};

/// What one line of a client turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub enum SubmissionFrame {
    Submission(Box<Submission>),
    Refused(LineRefusal),
}

#[derive(Debug)]
pub struct SubmissionReader<R> {
    lines: LineReader<R>,
}

impl<R: AsyncRead + Unpin> SubmissionReader<R> {
    pub fn new(source: R) -> Self {
        Self {
            lines: LineReader::new(source, LINE_BYTES_MAX),
        }
    }

    /// Accepts lines of at most so many bytes instead of [`LINE_BYTES_MAX`].
    pub fn with_line_bytes_max(mut self, bytes: usize) -> Self {
        self.lines.set_line_bytes_max(bytes);
        self
    }

    /// Returns the next frame, `None` at the end of the stream.
    ///
    /// Safe to cancel: nothing that was read is lost.
    pub async fn next(&mut self) -> io::Result<Option<SubmissionFrame>> {
        let line_bytes_max = self.lines.line_bytes_max();
        Ok(self.lines.next().await?.map(|line| match line {
            ReceivedLine::Whole(line) => match decode(line) {
                Ok(submission) => SubmissionFrame::Submission(Box::new(submission)),
                Err(refusal) => SubmissionFrame::Refused(refusal),
            },
            ReceivedLine::TooLong { head } => {
                SubmissionFrame::Refused(too_long::<Submission>(head, line_bytes_max))
            }
        }))
    }
}

#[derive(Debug)]
pub struct EventWriter<W> {
    lines: LineWriter<W>,
}

impl<W: AsyncWrite + Unpin> EventWriter<W> {
    pub fn new(sink: W) -> Self {
        Self {
            lines: LineWriter::new(sink),
        }
    }

    /// Writes events until there are no more, or the client is gone.
    ///
    /// All events that are ready go out together and are flushed once, so that a burst of
    /// deltas costs a few system calls and a single event is never held back.
    pub async fn forward<S, E>(&mut self, events: S) -> Result<(), WriteError>
    where
        S: Stream<Item = E>,
        E: Borrow<Event>,
    {
        // Fused: the burst below may meet the end, and a stream need not bear being asked again.
        let mut events = pin!(events.fuse());
        while let Some(event) = events.next().await {
            self.lines.push_event(event.borrow())?;
            while !self.lines.is_full() {
                match events.next().now_or_never() {
                    Some(Some(event)) => self.lines.push_event(event.borrow())?,
                    Some(None) | None => break,
                }
            }
            self.lines.flush().await?;
        }
        Ok(())
    }

    /// Writes one event and flushes it.
    pub async fn send(&mut self, event: &Event) -> Result<(), WriteError> {
        self.lines.push_event(event)?;
        self.lines.flush().await
    }
}
