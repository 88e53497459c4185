//! Cuts a byte stream into lines, in bounded memory.
//!
//! The bytes are read straight into the buffer that lines are handed out from; nothing is
//! copied except the unfinished tail when more must be read. A line over the limit is
//! reported as soon as the limit is crossed, and the rest of it is dropped as it arrives.

use std::io;
use std::ops::Range;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::limits::READ_BYTES;

#[derive(Debug, PartialEq, Eq)]
pub enum ReceivedLine<'a> {
    /// Without its newline; never blank.
    Whole(&'a [u8]),
    /// The beginning of a line that is over the limit. Its rest is not handed out.
    TooLong { head: &'a [u8] },
}

#[derive(Debug)]
pub struct LineReader<R> {
    source: R,
    line_bytes_max: usize,
    buffer: Vec<u8>,
    /// Where the next line begins in the buffer.
    start: usize,
    /// There is no newline between `start` and here.
    scanned: usize,
    state: LineReaderState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineReaderState {
    Collecting,
    /// In the rest of a line that is over the limit.
    Skipping,
    /// The source has ended.
    Ended,
}

/// A line, as a place in the buffer.
enum LineBounds {
    Whole(Range<usize>),
    TooLong(Range<usize>),
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(source: R, line_bytes_max: usize) -> Self {
        Self {
            source,
            line_bytes_max,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            state: LineReaderState::Collecting,
        }
    }

    pub fn set_line_bytes_max(&mut self, bytes: usize) {
        self.line_bytes_max = bytes;
    }

    pub fn line_bytes_max(&self) -> usize {
        self.line_bytes_max
    }

    /// Returns the next line that is not blank, `None` at the end of the source. The last
    /// line needs no newline.
    ///
    /// Cancelling loses nothing: all progress is in `self`.
    pub async fn next(&mut self) -> io::Result<Option<ReceivedLine<'_>>> {
        let cut = loop {
            match self.cut() {
                Some(LineBounds::Whole(range))
                    if self.buffer[range.clone()].trim_ascii().is_empty() => {}
                Some(cut) => break cut,
                None if self.state == LineReaderState::Ended => return Ok(None),
                None => self.fill().await?,
            }
        };
        Ok(Some(match cut {
            LineBounds::Whole(range) => ReceivedLine::Whole(&self.buffer[range]),
            LineBounds::TooLong(range) => ReceivedLine::TooLong {
                head: &self.buffer[range],
            },
        }))
    }

    /// Takes the next line out of the buffer, if it is there.
    fn cut(&mut self) -> Option<LineBounds> {
        if self.state == LineReaderState::Skipping && !self.skip() {
            return None;
        }
        let begin = self.start;
        let newline = memchr::memchr(b'\n', &self.buffer[self.scanned..]);
        let end = newline.map_or(self.buffer.len(), |at| self.scanned + at);
        self.scanned = end;

        let complete = newline.is_some() || (self.state == LineReaderState::Ended && begin < end);
        let too_long = end - begin > self.line_bytes_max;
        if !complete && !too_long {
            return None;
        }
        self.start = end + usize::from(newline.is_some());
        self.scanned = self.start;
        if !complete {
            self.state = LineReaderState::Skipping;
        }
        Some(if too_long {
            LineBounds::TooLong(begin..begin + self.line_bytes_max)
        } else {
            LineBounds::Whole(begin..end)
        })
    }

    /// Drops the rest of an over-long line; tells whether its end was reached.
    fn skip(&mut self) -> bool {
        let newline = memchr::memchr(b'\n', &self.buffer[self.start..]);
        self.start = newline.map_or(self.buffer.len(), |at| self.start + at + 1);
        self.scanned = self.start;
        if newline.is_some() {
            self.state = LineReaderState::Collecting;
        }
        newline.is_some()
    }

    async fn fill(&mut self) -> io::Result<()> {
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        if self.buffer.is_empty() && self.buffer.capacity() > READ_BYTES {
            self.buffer = Vec::new();
        }
        // Doubling keeps a long line linear; the limit keeps the doubling exact at its end.
        let wanted = self.buffer.len().max(READ_BYTES);
        let limit = self.line_bytes_max.saturating_add(1).max(READ_BYTES);
        let room = wanted.min(limit.saturating_sub(self.buffer.len())).max(1);
        self.buffer.reserve_exact(room);
        if self.source.read_buf(&mut self.buffer).await? == 0 {
            self.state = LineReaderState::Ended;
        }
        Ok(())
    }
}
