//! Messages of a connection that is one of many to a session: submissions and events, and what
//! [`troupe_protocol::link`] adds to them.
//!
//! The same JSON objects on every transport: one per line, per WebSocket message, per
//! server-sent event.

use std::io;

use serde::Deserialize;
use tokio::io::AsyncRead;
use troupe_protocol::link::{ClientRequest, ServerNotice};
use troupe_protocol::{Event, JsonCodec, Submission};

use crate::client::EventReadError;
use crate::decode::{decode, too_long};
use crate::limits::LINE_BYTES_MAX;
use crate::line::{LineReader, ReceivedLine};
use crate::refusal::LineRefusal;

/// What a client sent.
#[derive(Debug, Clone, PartialEq)]
pub enum FromClient {
    Request(ClientRequest),
    Submission(Box<Submission>),
    Refused(LineRefusal),
}

impl FromClient {
    pub fn decode(message: &[u8]) -> Self {
        match decode(message) {
            Ok(submission) => Self::Submission(Box::new(submission)),
            Err(refusal) => match tagged(message) {
                Some(Ok(request)) => Self::Request(request),
                Some(Err(error)) => {
                    Self::Refused(LineRefusal::new(None, format!("request: {error}")))
                }
                None => Self::Refused(refusal),
            },
        }
    }

    /// Returns what stands for a message of which only the beginning was read.
    pub fn too_long(head: &[u8], bytes_max: usize) -> Self {
        Self::Refused(too_long::<Submission>(head, bytes_max))
    }
}

/// What a client sends.
#[derive(Debug, Clone, PartialEq)]
pub enum ToServer {
    Request(ClientRequest),
    Submission(Box<Submission>),
}

impl ToServer {
    pub fn to_json(&self) -> serde_json::Result<String> {
        match self {
            Self::Request(request) => request.to_json(),
            Self::Submission(submission) => submission.to_json(),
        }
    }
}

/// What a server sent.
#[derive(Debug, Clone, PartialEq)]
pub enum FromServer {
    Notice(Box<ServerNotice>),
    Event(Box<Event>),
}

impl FromServer {
    pub fn decode(message: &[u8]) -> Result<Self, LineRefusal> {
        match decode(message) {
            Ok(event) => Ok(Self::Event(Box::new(event))),
            Err(refusal) => match tagged(message) {
                Some(Ok(notice)) => Ok(Self::Notice(Box::new(notice))),
                Some(Err(error)) => Err(LineRefusal::new(None, format!("notice: {error}"))),
                None => Err(refusal),
            },
        }
    }
}

/// Reads an object that has its `type` at the top, which neither a submission nor an event
/// has. Returns `None` for one that has none.
fn tagged<T: JsonCodec>(message: &[u8]) -> Option<Result<T, serde_json::Error>> {
    #[derive(Deserialize)]
    struct TypeProbe {
        #[serde(rename = "type")]
        _kind: String,
    }
    serde_json::from_slice::<TypeProbe>(message).ok()?;
    Some(T::from_json(message))
}

/// Reads what a client sends as lines.
#[derive(Debug)]
pub struct ClientReader<R> {
    lines: LineReader<R>,
}

impl<R: AsyncRead + Unpin> ClientReader<R> {
    pub fn new(source: R) -> Self {
        Self {
            lines: LineReader::new(source, LINE_BYTES_MAX),
        }
    }

    /// Returns the next message, `None` at the end of the stream.
    ///
    /// Safe to cancel: nothing that was read is lost.
    pub async fn next(&mut self) -> io::Result<Option<FromClient>> {
        let line_bytes_max = self.lines.line_bytes_max();
        Ok(self.lines.next().await?.map(|line| match line {
            ReceivedLine::Whole(line) => FromClient::decode(line),
            ReceivedLine::TooLong { head } => FromClient::too_long(head, line_bytes_max),
        }))
    }
}

/// Reads what a server sends as lines.
#[derive(Debug)]
pub struct ServerReader<R> {
    lines: LineReader<R>,
}

impl<R: AsyncRead + Unpin> ServerReader<R> {
    pub fn new(source: R) -> Self {
        Self {
            lines: LineReader::new(source, LINE_BYTES_MAX),
        }
    }

    /// Returns the next message, `None` at the end of the stream.
    ///
    /// Safe to cancel: nothing that was read is lost.
    pub async fn next(&mut self) -> Result<Option<FromServer>, EventReadError> {
        let line_bytes_max = self.lines.line_bytes_max();
        let message = match self.lines.next().await? {
            None => return Ok(None),
            Some(ReceivedLine::Whole(line)) => FromServer::decode(line),
            Some(ReceivedLine::TooLong { head }) => Err(too_long::<Event>(head, line_bytes_max)),
        };
        message.map(Some).map_err(EventReadError::Unreadable)
    }
}

#[cfg(test)]
mod tests;
