//! Matching lines and the lines around them, as they are shown.

use regex::bytes::Regex;

use crate::limits::GREP_LINE_BYTES_MAX;
use crate::lines;

/// The answer of a search while it grows towards its bounds.
#[derive(Debug)]
pub(super) struct GrepHits {
    text: String,
    /// How many more matching lines may be shown.
    room: usize,
    bytes_max: usize,
    context: usize,
}

/// Whether the answer can take more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HitCapacity {
    Left,
    Full,
}

impl GrepHits {
    pub(super) fn new(matches_max: usize, bytes_max: usize, context: usize) -> Self {
        Self {
            text: String::new(),
            room: matches_max,
            bytes_max,
            context,
        }
    }

    /// Adds the matching lines of one file.
    pub(super) fn search(&mut self, regex: &Regex, name: &str, text: &[u8]) -> HitCapacity {
        let mut numbers = matching_lines(regex, text, self.room + 1);
        let mut full = numbers.len() > self.room;
        numbers.truncate(self.room);
        self.room -= numbers.len();
        if self.show(name, text, &numbers) == HitCapacity::Full {
            full = true;
        }
        if full {
            HitCapacity::Full
        } else {
            HitCapacity::Left
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Shows the lines of these numbers, in order, with the lines around them.
    fn show(&mut self, name: &str, text: &[u8], numbers: &[usize]) -> HitCapacity {
        let mut ahead = numbers;
        let mut last_shown = None;
        for (number, line) in (1..).zip(split_lines(text)) {
            while ahead.first().is_some_and(|hit| hit + self.context < number) {
                ahead = &ahead[1..];
            }
            let Some(hit) = ahead.first() else { break };
            if number + self.context < *hit {
                continue;
            }
            if self.text.len() >= self.bytes_max {
                return HitCapacity::Full;
            }
            let follows = last_shown.is_none_or(|last| last + 1 == number);
            if self.context > 0 && !(follows && (last_shown.is_some() || self.text.is_empty())) {
                self.text.push_str("--\n");
            }
            let mark = if ahead.binary_search(&number).is_ok() {
                ':'
            } else {
                '-'
            };
            self.write(name, mark, number, line);
            last_shown = Some(number);
        }
        HitCapacity::Left
    }

    fn write(&mut self, name: &str, mark: char, number: usize, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let shown = &line[..line.len().min(GREP_LINE_BYTES_MAX)];
        let text = String::from_utf8_lossy(shown);
        let cut = line.len() - shown.len();
        if cut == 0 {
            lines::push(
                &mut self.text,
                format_args!("{name}{mark}{number}{mark}{text}"),
            );
        } else {
            let text = text.trim_end_matches(char::REPLACEMENT_CHARACTER);
            lines::push(
                &mut self.text,
                format_args!("{name}{mark}{number}{mark}{text} [… {cut} more bytes]"),
            );
        }
    }
}

/// Returns the numbers of the first `max` lines in which a match begins.
fn matching_lines(regex: &Regex, text: &[u8], max: usize) -> Vec<usize> {
    let mut numbers = Vec::new();
    let (mut number, mut counted, mut from) = (1, 0, 0);
    while let Some(found) = regex.find_at(text, from) {
        let start = found.start();
        // What follows the last line end is no line, though an empty match is found there.
        let beyond = start == text.len() && text.last().is_none_or(|byte| *byte == b'\n');
        if beyond || numbers.len() == max {
            break;
        }
        number += memchr::memchr_iter(b'\n', &text[counted..start]).count();
        counted = start;
        numbers.push(number);
        match memchr::memchr(b'\n', &text[start..]) {
            Some(end) => from = start + end + 1,
            None => break,
        }
    }
    numbers
}

fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.split(|byte| *byte == b'\n')
}
