//! Keeps the beginning and the end of an output that may be of any size.

use std::collections::VecDeque;

/// Collects output up to a number of bytes: the first half of them from the beginning, the
/// second from the end. What fits is kept whole.
#[derive(Debug, Clone)]
pub struct OutputBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_bytes_max: usize,
    tail_bytes_max: usize,
    total_bytes: u64,
    newlines: u64,
    last: Option<u8>,
}

impl OutputBuffer {
    pub fn new(bytes_max: usize) -> Self {
        let head_bytes_max = bytes_max / 2;
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_bytes_max,
            tail_bytes_max: bytes_max - head_bytes_max,
            total_bytes: 0,
            newlines: 0,
            last: None,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        self.newlines += count_newlines(bytes);
        self.last = bytes.last().copied().or(self.last);
        let room = self.head_bytes_max - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.tail_bytes_max)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.tail_bytes_max);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// All bytes that were pushed, kept or not.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// All lines that were pushed; an unfinished last one counts.
    pub fn total_lines(&self) -> u64 {
        let unfinished = self.last.is_some_and(|byte| byte != b'\n');
        self.newlines + u64::from(unfinished)
    }

    pub fn omitted_bytes(&self) -> u64 {
        self.total_bytes - (self.head.len() + self.tail.len()) as u64
    }

    /// Renders what is kept as text, with the cut stated where it is. Bytes that are no UTF-8
    /// become replacement characters; a character split by the cut is left out and counted.
    pub fn render(&self) -> String {
        let (front, back) = self.tail.as_slices();
        let tail = [front, back].concat();
        if self.omitted_bytes() == 0 {
            return String::from_utf8_lossy(&[&self.head[..], &tail].concat()).into_owned();
        }
        let head = &self.head[..whole_characters_end(&self.head)];
        let tail = &tail[first_character_start(&tail)..];
        let omitted = self.total_bytes - (head.len() + tail.len()) as u64;
        format!(
            "{}\n… {omitted} bytes omitted …\n{}",
            String::from_utf8_lossy(head),
            String::from_utf8_lossy(tail)
        )
    }
}

#[expect(
    clippy::naive_bytecount,
    reason = "8 KiB at a time; the loop is vectorised by the compiler"
)]
fn count_newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Where a character begins that the end of the bytes cuts off, or the end.
fn whole_characters_end(bytes: &[u8]) -> usize {
    let longest = bytes.len().saturating_sub(3);
    for start in (longest..bytes.len()).rev() {
        let length = match bytes[start] {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            0x80..=0xbf => continue,
            _ => 1,
        };
        let is_cut = start + length > bytes.len();
        return if is_cut { start } else { bytes.len() };
    }
    bytes.len()
}

/// Where the first character begins of which no byte is missing.
fn first_character_start(bytes: &[u8]) -> usize {
    let rest_of_one = bytes
        .iter()
        .take(3)
        .take_while(|byte| (0x80..=0xbf).contains(*byte));
    rest_of_one.count()
}

#[cfg(test)]
mod tests;
