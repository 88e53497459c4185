//! Server-sent events, cut out of a byte stream that may be cut anywhere.
//!
//! The parser keeps one unfinished line and one unfinished event. Every event that a chunk
//! completes is handed to the sink while the chunk is being read, so one network read
//! becomes one batch without a queue in between.

use memchr::{memchr, memchr2};

use crate::limits::EVENT_BYTES_MAX;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One event; `name` is empty when the server gave none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    pub name: &'a str,
    pub data: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("an event is larger than {EVENT_BYTES_MAX} bytes")]
    TooLarge,
    #[error("an event is not valid UTF-8")]
    NotUtf8,
}

#[derive(Debug)]
pub struct SseParser {
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The first line may begin with a byte order mark.
    at_first_line: bool,
    /// The last chunk ended with CR: an LF that follows belongs to it.
    after_cr: bool,
}

impl SseParser {
    pub fn new() -> Self {
        Self {
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            at_first_line: true,
            after_cr: false,
        }
    }

    /// Reads a chunk and hands every event that it completes to `sink`. After an error
    /// the stream is of no further use.
    pub fn feed<E: From<SseError>>(
        &mut self,
        mut chunk: &[u8],
        sink: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.after_cr && !chunk.is_empty() {
            self.after_cr = false;
            chunk = chunk.strip_prefix(b"\n").unwrap_or(chunk);
        }
        while let Some(end) = memchr2(b'\n', b'\r', chunk) {
            self.end_line(&chunk[..end], sink)?;
            let after = &chunk[end + 1..];
            chunk = if chunk[end] == b'\r' {
                self.after_cr = after.is_empty();
                after.strip_prefix(b"\n").unwrap_or(after)
            } else {
                after
            };
        }
        self.check_size(chunk.len())?;
        self.line.extend_from_slice(chunk);
        Ok(())
    }

    /// Ends the stream. An event without its final blank line still counts: some servers
    /// close right after the last line, and a torn one does not parse anyway.
    pub fn finish<E: From<SseError>>(
        &mut self,
        sink: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.line.is_empty() {
            self.end_line(b"", sink)?;
        }
        self.dispatch(sink)
    }

    /// Returns how much is kept of an event that is not complete.
    pub(crate) fn held_bytes(&self) -> usize {
        self.line.len() + self.data.len()
    }

    fn end_line<E: From<SseError>>(
        &mut self,
        tail: &[u8],
        sink: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_size(tail.len())?;
        if self.line.is_empty() {
            return self.take_line(tail, sink);
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(tail);
        let result = self.take_line(&line, sink);
        line.clear();
        self.line = line;
        result
    }

    fn take_line<E: From<SseError>>(
        &mut self,
        mut line: &[u8],
        sink: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if std::mem::take(&mut self.at_first_line) {
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if line.is_empty() {
            return self.dispatch(sink);
        }
        let (field, value) = match memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            // Comments have an empty field name; `id` and `retry` are for browsers.
            _ => {}
        }
        Ok(())
    }

    fn dispatch<E: From<SseError>>(
        &mut self,
        sink: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let result = if self.has_data {
            match (
                std::str::from_utf8(&self.name),
                std::str::from_utf8(&self.data),
            ) {
                (Ok(name), Ok(data)) => sink(SseEvent { name, data }),
                _ => Err(SseError::NotUtf8.into()),
            }
        } else {
            Ok(())
        };
        self.has_data = false;
        self.name.clear();
        self.data.clear();
        result
    }

    fn check_size(&self, more: usize) -> Result<(), SseError> {
        if self.line.len() + self.data.len() + more > EVENT_BYTES_MAX {
            return Err(SseError::TooLarge);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
