//! Server-sent events: the messages of a server as a stream that an HTTP client can read and
//! take up again by `Last-Event-ID`.
//!
//! An event is `id: SEQ` and `data: JSON`; a notice is `event: notice` and `data: JSON`. JSON
//! has no line ends of its own, so one line of data is enough to write. To read, any stream of
//! the kind will do.

use troupe_protocol::link::ServerNotice;
use troupe_protocol::{Event, JsonCodec};

use crate::limits::LINE_BYTES_MAX;
use crate::refusal::LineRefusal;
use crate::write::event_json;

/// Adds an event to a stream.
pub fn push_event(stream: &mut Vec<u8>, event: &Event) {
    stream.extend_from_slice(format!("id: {}\ndata: ", event.seq).as_bytes());
    stream.extend_from_slice(event_json(event).as_bytes());
    stream.extend_from_slice(b"\n\n");
}

/// Adds a notice to a stream.
pub fn push_notice(stream: &mut Vec<u8>, notice: &ServerNotice) {
    stream.extend_from_slice(b"event: notice\ndata: ");
    let written = notice.write_json(stream);
    written.expect("a notice is text, which JSON can express");
    stream.extend_from_slice(b"\n\n");
}

/// Adds what keeps a quiet stream open; readers pass over it.
pub fn push_comment(stream: &mut Vec<u8>) {
    stream.extend_from_slice(b":\n\n");
}

/// Finds the data in a stream that comes in pieces.
#[derive(Debug, Default)]
pub struct SseReader {
    /// What came, from the beginning of a line.
    buffer: Vec<u8>,
    /// There is no line end before this place.
    scanned: usize,
    /// The data of the event that is not complete.
    data: Option<Vec<u8>>,
}

impl SseReader {
    /// Takes a piece of the stream.
    pub fn feed(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    /// Returns the data of the next event, if all of it came.
    pub fn next_data(&mut self) -> Result<Option<Vec<u8>>, LineRefusal> {
        while let Some(line) = self.line() {
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            if line.is_empty() {
                if let Some(data) = self.data.take() {
                    return Ok(Some(data));
                }
            } else if let Some(value) = line.strip_prefix(b"data:") {
                let value = value.strip_prefix(b" ").unwrap_or(value);
                match &mut self.data {
                    Some(data) => {
                        data.push(b'\n');
                        data.extend_from_slice(value);
                    }
                    None => self.data = Some(value.to_vec()),
                }
            }
        }
        let held = self.buffer.len() + self.data.as_ref().map_or(0, Vec::len);
        if held > LINE_BYTES_MAX + 1024 {
            let problem = format!("event is longer than {LINE_BYTES_MAX} bytes");
            return Err(LineRefusal::new(None, problem));
        }
        Ok(None)
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let Some(at) = memchr::memchr(b'\n', &self.buffer[self.scanned..]) else {
            self.scanned = self.buffer.len();
            return None;
        };
        let end = self.scanned + at;
        self.scanned = 0;
        let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
        line.pop();
        Some(line)
    }
}

#[cfg(test)]
mod tests;
