//! Reads lines from the beginning of a log towards its end.

use std::io::{self, Write};
use std::ops::Range;

use memchr::{memchr, memchr_iter};

use crate::limits::{BATCH_BYTES_MAX, CHUNK_BYTES, LINE_BYTES_MAX};
use crate::source::ByteSource;
use crate::store::{LineBatch, LogLine, LogPosition};

/// Hands out whole lines up to the size that the source had at the start. What is appended
/// meanwhile is for the next reader; an unfinished last line is never handed out.
#[derive(Debug)]
pub(crate) struct ForwardReader<'a, S: ?Sized> {
    source: &'a S,
    end: u64,
    buffer: Vec<u8>,
    /// `buffer[head..]` are the bytes of the source that begin at `at`.
    head: usize,
    at: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NextLine<'b> {
    pub(crate) start: u64,
    /// After the line feed.
    pub(crate) end: u64,
    /// Without the line feed; `None` if the line is longer than any that we write.
    pub(crate) bytes: Option<&'b [u8]>,
}

impl<'a, S: ByteSource + ?Sized> ForwardReader<'a, S> {
    pub(crate) fn new(source: &'a S, from: LogPosition) -> io::Result<Self> {
        let end = source.bytes()?;
        Ok(Self::up_to(source, from, LogPosition(end)))
    }

    pub(crate) fn up_to(source: &'a S, from: LogPosition, end: LogPosition) -> Self {
        Self {
            source,
            end: end.0,
            buffer: Vec::new(),
            head: 0,
            at: from.0,
        }
    }

    /// Returns where the next line begins.
    pub(crate) fn position(&self) -> LogPosition {
        LogPosition(self.at)
    }

    pub(crate) fn next_line(&mut self) -> io::Result<Option<NextLine<'_>>> {
        let mut searched = self.head;
        let feed = loop {
            if let Some(found) = memchr(b'\n', &self.buffer[searched..]) {
                break searched + found;
            }
            let held = self.buffer.len() - self.head;
            if held > LINE_BYTES_MAX {
                return self.skip_long_line();
            }
            if !self.fill(held.max(CHUNK_BYTES))? {
                return Ok(None);
            }
            searched = self.head + held;
        };
        let line = self.head..feed;
        let start = self.at;
        self.head = feed + 1;
        self.at += line.len() as u64 + 1;
        Ok(Some(NextLine {
            start,
            end: self.at,
            bytes: Some(&self.buffer[line]),
        }))
    }

    /// Reads up to `wanted` bytes behind the held ones; false at the end.
    fn fill(&mut self, wanted: usize) -> io::Result<bool> {
        self.buffer.drain(..self.head);
        self.head = 0;
        let held = self.buffer.len();
        let offset = self.at + held as u64;
        let left = self.end.saturating_sub(offset);
        let count = usize::try_from(left).map_or(wanted, |left| left.min(wanted));
        self.buffer.resize(held + count, 0);
        self.source
            .read_exact_at(&mut self.buffer[held..], offset)?;
        Ok(count > 0)
    }

    fn skip_long_line(&mut self) -> io::Result<Option<NextLine<'_>>> {
        let start = self.at;
        self.at += (self.buffer.len() - self.head) as u64;
        self.buffer = Vec::new();
        self.head = 0;
        loop {
            if !self.fill(CHUNK_BYTES)? {
                // The long line is also unfinished.
                self.at = start;
                self.end = start;
                return Ok(None);
            }
            if let Some(feed) = memchr(b'\n', &self.buffer) {
                self.head = feed + 1;
                self.at += self.head as u64;
                return Ok(Some(NextLine {
                    start,
                    end: self.at,
                    bytes: None,
                }));
            }
            self.at += self.buffer.len() as u64;
            self.buffer.clear();
        }
    }
}

/// Reads whole lines from `from` on, up to the size of one batch.
pub(crate) fn batch<S: ByteSource + ?Sized>(
    source: &S,
    from: LogPosition,
) -> io::Result<LineBatch> {
    let mut forwards = ForwardReader::new(source, from)?;
    let mut lines = Vec::new();
    let mut bytes = 0;
    let mut at_end = false;
    while bytes < BATCH_BYTES_MAX {
        let Some(next) = forwards.next_line()? else {
            at_end = true;
            break;
        };
        // What no line of ours can be is shown as an empty one.
        let text = next.bytes.unwrap_or_default();
        bytes += text.len() + size_of::<LogLine>();
        lines.push(LogLine {
            start: LogPosition(next.start),
            end: LogPosition(next.end),
            bytes: text.to_owned(),
        });
    }
    Ok(LineBatch {
        lines,
        next: forwards.position(),
        at_end,
    })
}

/// Copies a range of bytes in bounded pieces.
pub(crate) fn copy<S: ByteSource + ?Sized>(
    source: &S,
    range: Range<u64>,
    target: &mut impl Write,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut at = range.start;
    while at < range.end {
        let count =
            usize::try_from(range.end - at).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
        source.read_exact_at(&mut chunk[..count], at)?;
        target.write_all(&chunk[..count])?;
        at += count as u64;
    }
    Ok(())
}

/// Returns the number of the line that begins at each of the (ascending) offsets.
pub(crate) fn line_numbers<S: ByteSource + ?Sized>(
    source: &S,
    starts: &[u64],
) -> io::Result<Vec<usize>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let (mut at, mut feeds) = (0, 0);
    let mut numbers = Vec::with_capacity(starts.len());
    for &start in starts {
        while at < start {
            let count = usize::try_from(start - at).map_or(CHUNK_BYTES, |n| n.min(CHUNK_BYTES));
            source.read_exact_at(&mut chunk[..count], at)?;
            feeds += memchr_iter(b'\n', &chunk[..count]).count();
            at += count as u64;
        }
        numbers.push(feeds + 1);
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests;
