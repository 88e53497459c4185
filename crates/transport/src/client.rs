//! The client's end: submissions go out, events come in.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use troupe_protocol::{Event, Submission};

use crate::decode::{decode, too_long};
use crate::limits::LINE_BYTES_MAX;
use crate::line::{LineReader, ReceivedLine};
use crate::refusal::LineRefusal;
use crate::write::{LineWriter, WriteError};

#[derive(Debug)]
pub struct SubmissionWriter<W> {
    lines: LineWriter<W>,
}

impl<W: AsyncWrite + Unpin> SubmissionWriter<W> {
    pub fn new(sink: W) -> Self {
        Self {
            lines: LineWriter::new(sink),
        }
    }

    /// Writes one submission and flushes it.
    pub async fn send(&mut self, submission: &Submission) -> Result<(), WriteError> {
        self.lines.push(submission)?;
        self.lines.flush().await
    }
}

#[derive(Debug, thiserror::Error)]
pub enum EventReadError {
    /// One line is no event that this version knows. The next one can be read.
    #[error("unreadable event: {}", .0.message)]
    Unreadable(LineRefusal),
    #[error("connection failed: {0}")]
    Io(#[from] io::Error),
}

#[derive(Debug)]
pub struct EventReader<R> {
    lines: LineReader<R>,
}

impl<R: AsyncRead + Unpin> EventReader<R> {
    pub fn new(source: R) -> Self {
        Self {
            lines: LineReader::new(source, LINE_BYTES_MAX),
        }
    }

    /// Returns the next event, `None` at the end of the stream.
    ///
    /// Safe to cancel: nothing that was read is lost.
    pub async fn next(&mut self) -> Result<Option<Event>, EventReadError> {
        let line_bytes_max = self.lines.line_bytes_max();
        match self.lines.next().await? {
            None => Ok(None),
            Some(ReceivedLine::Whole(line)) => {
                decode(line).map(Some).map_err(EventReadError::Unreadable)
            }
            Some(ReceivedLine::TooLong { head }) => {
                Err(EventReadError::Unreadable(too_long::<Event>(
                    head,
                    line_bytes_max,
                )))
            }
        }
    }
}
