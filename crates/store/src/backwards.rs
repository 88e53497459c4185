//! Reads lines from the end of a log towards its beginning.
//!
//! The buffer is filled from the back: what is read next lies before what is held. A line
//! longer than what is held doubles the next read, so that each byte is moved a constant
//! number of times however long the line is.

use std::io;

use memchr::memrchr;

use crate::limits::{CHUNK_BYTES, LINE_BYTES_MAX};
use crate::source::ByteSource;

#[derive(Debug)]
pub(crate) struct BackwardReader<'a, S: ?Sized> {
    source: &'a S,
    buffer: Vec<u8>,
    /// `buffer[head..tail]` are the bytes of the source that begin at `at`. Everything from
    /// `tail` on was handed out already.
    head: usize,
    tail: usize,
    at: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PrecedingLine<'b> {
    pub(crate) start: u64,
    /// After the line feed.
    pub(crate) end: u64,
    /// Without the line feed; `None` if the line is longer than any that we write.
    pub(crate) bytes: Option<&'b [u8]>,
}

impl<'a, S: ByteSource + ?Sized> BackwardReader<'a, S> {
    /// Begins at `end`, which must be just after a line feed or 0.
    pub(crate) fn new(source: &'a S, end: u64) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            head: 0,
            tail: 0,
            at: end,
        }
    }

    /// Returns the line before the ones returned so far.
    pub(crate) fn line_before(&mut self) -> io::Result<Option<PrecedingLine<'_>>> {
        let end = self.position();
        if end == 0 {
            return Ok(None);
        }
        if self.held() == 0 {
            self.fill(CHUNK_BYTES)?;
        }
        let feed = self.tail - 1;
        let mut searched = feed;
        let line_start = loop {
            if let Some(found) = memrchr(b'\n', &self.buffer[self.head..searched]) {
                break self.head + found + 1;
            }
            if self.at == 0 {
                break self.head;
            }
            if self.held() > LINE_BYTES_MAX {
                return self.skip_long_line(end).map(Some);
            }
            let held = self.held();
            self.fill(held.max(CHUNK_BYTES))?;
            searched = self.tail - held;
        };
        // A fill moves what is held, so the line feed is found again from the tail.
        let feed = self.tail - 1;
        self.tail = line_start;
        Ok(Some(PrecedingLine {
            start: self.position(),
            end,
            bytes: Some(&self.buffer[line_start..feed]),
        }))
    }

    /// Goes on at `to`, which must be just after a line feed or 0, and not behind the
    /// current position.
    pub(crate) fn jump(&mut self, to: u64) {
        match to.checked_sub(self.at).map(usize::try_from) {
            Some(Ok(distance)) if distance <= self.held() => self.tail = self.head + distance,
            _ => {
                self.head = self.buffer.len();
                self.tail = self.head;
                self.at = to;
            }
        }
    }

    /// Returns where the next line ends.
    fn position(&self) -> u64 {
        self.at + self.held() as u64
    }

    fn held(&self) -> usize {
        self.tail - self.head
    }

    /// Reads up to `wanted` bytes that lie before the held ones.
    fn fill(&mut self, wanted: usize) -> io::Result<()> {
        let count = usize::try_from(self.at).map_or(wanted, |at| at.min(wanted));
        if self.head < count {
            self.make_room(count);
        }
        let target = self.head - count;
        self.at -= count as u64;
        self.source
            .read_exact_at(&mut self.buffer[target..self.head], self.at)?;
        self.head = target;
        Ok(())
    }

    /// Moves the held bytes to the end of a buffer that has `count` bytes before them.
    fn make_room(&mut self, count: usize) {
        let held = self.head..self.tail;
        if self.buffer.len() < held.len() + count {
            let mut larger = vec![0; held.len() + count];
            larger[count..].copy_from_slice(&self.buffer[held.clone()]);
            self.buffer = larger;
        } else {
            let target = self.buffer.len() - held.len();
            self.buffer.copy_within(held.clone(), target);
        }
        self.tail = self.buffer.len();
        self.head = self.tail - held.len();
    }

    fn skip_long_line(&mut self, end: u64) -> io::Result<PrecedingLine<'_>> {
        let start = line_start_before(self.source, self.at)?;
        self.buffer = Vec::new();
        self.jump(start);
        Ok(PrecedingLine {
            start,
            end,
            bytes: None,
        })
    }
}

/// Returns the end of the last line feed before `end`, 0 if there is none.
pub(crate) fn line_start_before<S: ByteSource + ?Sized>(source: &S, end: u64) -> io::Result<u64> {
    let mut chunk = Vec::new();
    let mut at = end;
    while at > 0 {
        let count = usize::try_from(at).map_or(CHUNK_BYTES, |at| at.min(CHUNK_BYTES));
        chunk.resize(count, 0);
        at -= count as u64;
        source.read_exact_at(&mut chunk, at)?;
        if let Some(found) = memrchr(b'\n', &chunk) {
            return Ok(at + found as u64 + 1);
        }
    }
    Ok(0)
}

#[cfg(test)]
mod tests;
