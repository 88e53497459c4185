//! Encodes messages to lines and hands them to a sink in batches.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};

use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::ErrorEvent;
use troupe_protocol::{Event, EventMsg, JsonCodec};

use crate::limits::BATCH_BYTES_MAX;

/// Returns an event as JSON. One that JSON cannot express is replaced by one that says so.
pub fn event_json(event: &Event) -> String {
    let replaced = |error| left_out(event, &error).to_json();
    event.to_json().or_else(replaced).unwrap_or_default()
}

fn left_out(event: &Event, error: &serde_json::Error) -> Event {
    Event {
        id: event.id.clone(),
        seq: event.seq,
        msg: EventMsg::Error(ErrorEvent {
            message: format!("an event is left out, it cannot be written as JSON: {error}"),
            fatal: false,
            error_info: Some(ErrorInfo::Other),
        }),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Nobody reads any more: time to stop, not something to report.
    #[error("the peer has closed the connection")]
    Closed,
    /// The message is dropped; the stream is intact.
    #[error("message cannot be written as JSON: {0}")]
    Encode(#[source] serde_json::Error),
    #[error("connection failed: {0}")]
    Io(#[source] io::Error),
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::NotConnected
            | io::ErrorKind::WriteZero => Self::Closed,
            _ => Self::Io(error),
        }
    }
}

/// Writes messages as lines, in batches.
#[derive(Debug)]
pub struct LineWriter<W> {
    sink: W,
    batch: Vec<u8>,
    /// How much of the batch the sink has taken. Kept here so that a write which was
    /// cancelled goes on where it stopped.
    written: usize,
}

impl<W: AsyncWrite + Unpin> LineWriter<W> {
    pub fn new(sink: W) -> Self {
        Self {
            sink,
            batch: Vec::new(),
            written: 0,
        }
    }

    /// Adds a message to the batch. Nothing is sent before [`Self::flush`].
    pub fn push<T: JsonCodec>(&mut self, message: &T) -> Result<(), WriteError> {
        let end = self.batch.len();
        match message.write_json(&mut self.batch) {
            Ok(()) => {
                self.batch.push(b'\n');
                Ok(())
            }
            Err(error) => {
                self.batch.truncate(end);
                Err(WriteError::Encode(error))
            }
        }
    }

    /// Adds an event to the batch. JSON cannot express all of them (a path need not be
    /// UTF-8); in place of such a one the client is told that something is missing.
    pub fn push_event(&mut self, event: &Event) -> Result<(), WriteError> {
        match self.push(event) {
            Err(WriteError::Encode(error)) => self.push(&left_out(event, &error)),
            outcome => outcome,
        }
    }

    /// Tells whether the batch should be sent before more is added.
    pub fn is_full(&self) -> bool {
        self.batch.len() >= BATCH_BYTES_MAX
    }

    /// Sends the batch, and flushes the sink.
    pub async fn flush(&mut self) -> Result<(), WriteError> {
        while self.written < self.batch.len() {
            match self.sink.write(&self.batch[self.written..]).await? {
                0 => return Err(WriteError::Closed),
                taken => self.written += taken,
            }
        }
        self.batch.clear();
        self.batch.shrink_to(BATCH_BYTES_MAX * 2);
        self.written = 0;
        Ok(self.sink.flush().await?)
    }

    /// Says that nothing more comes.
    pub async fn shutdown(&mut self) -> Result<(), WriteError> {
        Ok(self.sink.shutdown().await?)
    }
}
