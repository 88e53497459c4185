//! Blocks in a streamed text, between tags that stand on lines of their own.
//!
//! ```text
//! chunks ─► [line so far] ─ cannot be a tag any more ─► passed on as it comes
//!                         ─ whole line is a tag ──────► Open / Close, the line itself is gone
//! ```
//!
//! A line is held back only as long as it may still turn out to be a tag, so readers see text
//! the moment it is known to be text. What comes out does not depend on how the text was cut
//! into chunks. A block that is never closed ends with the text.
//!
//! Deliberately absent: nesting (inside a block only its own end counts), attributes, what a
//! block means.

use std::fmt;

/// The longest line that may be a tag, in bytes. Beyond it a line is text whatever it says,
/// so that no more than this is ever held back.
pub const TAG_LINE_BYTES_MAX: usize = 256;

/// A kind of block and the lines that begin and end it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockTag<T> {
    pub block: T,
    pub open: &'static str,
    pub close: &'static str,
}

/// A piece of a text that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TagSegment<T> {
    /// Text outside of blocks.
    Text(String),
    Open(T),
    /// Text of a block.
    Inner(T, String),
    Close(T),
}

/// Reads one text.
#[derive(Clone)]
pub struct TagReader<T: 'static> {
    tags: &'static [BlockTag<T>],
    within: Option<BlockTag<T>>,
    line: TagLine,
}

#[derive(Debug, Clone)]
enum TagLine {
    /// What there is of a line that may be a tag.
    Held(String),
    /// The rest of this line is text.
    Text,
}

impl<T: Copy + 'static> TagReader<T> {
    pub fn new(tags: &'static [BlockTag<T>]) -> Self {
        Self {
            tags,
            within: None,
            line: TagLine::Held(String::new()),
        }
    }

    /// Reads on. Adds what is known now.
    pub fn push(&mut self, chunk: &str, out: &mut Vec<TagSegment<T>>) {
        for piece in chunk.split_inclusive('\n') {
            let is_whole = piece.ends_with('\n');
            match &mut self.line {
                TagLine::Text => {
                    self.pass_on(piece, out);
                    if is_whole {
                        self.line = TagLine::Held(String::new());
                    }
                }
                TagLine::Held(held) => {
                    held.push_str(piece);
                    let line = std::mem::take(held);
                    if is_whole {
                        self.whole_line(&line, out);
                    } else if self.may_become_tag(&line) {
                        self.line = TagLine::Held(line);
                    } else {
                        self.pass_on(&line, out);
                        self.line = TagLine::Text;
                    }
                }
            }
        }
    }

    /// Ends the text, and a block that is still open.
    pub fn finish(mut self, out: &mut Vec<TagSegment<T>>) {
        if let TagLine::Held(line) = std::mem::replace(&mut self.line, TagLine::Text) {
            self.whole_line(&line, out);
        }
        if let Some(tag) = self.within {
            out.push(TagSegment::Close(tag.block));
        }
    }

    fn whole_line(&mut self, line: &str, out: &mut Vec<TagSegment<T>>) {
        let is = |tag: &str| is_tag(line, tag);
        match self.within {
            Some(tag) if is(tag.close) => {
                self.within = None;
                out.push(TagSegment::Close(tag.block));
            }
            None if let Some(tag) = self.tags.iter().find(|tag| is(tag.open)) => {
                self.within = Some(*tag);
                out.push(TagSegment::Open(tag.block));
            }
            Some(_) | None => self.pass_on(line, out),
        }
    }

    fn may_become_tag(&self, line: &str) -> bool {
        match self.within {
            Some(tag) => may_become(line, tag.close),
            None => self.tags.iter().any(|tag| may_become(line, tag.open)),
        }
    }

    fn pass_on(&self, text: &str, out: &mut Vec<TagSegment<T>>) {
        if text.is_empty() {
            return;
        }
        match (self.within, out.last_mut()) {
            // Nothing but text came since the last segment, which is of the same place.
            (None, Some(TagSegment::Text(before)))
            | (Some(_), Some(TagSegment::Inner(_, before))) => {
                before.push_str(text);
            }
            (None, _) => out.push(TagSegment::Text(text.to_owned())),
            (Some(tag), _) => out.push(TagSegment::Inner(tag.block, text.to_owned())),
        }
    }
}

/// Reads a whole text that came in chunks.
pub fn read<'a, T: Copy + 'static>(
    tags: &'static [BlockTag<T>],
    chunks: impl IntoIterator<Item = &'a str>,
) -> Vec<TagSegment<T>> {
    let mut segments = Vec::new();
    let mut reader = TagReader::new(tags);
    for chunk in chunks {
        reader.push(chunk, &mut segments);
    }
    reader.finish(&mut segments);
    segments
}

fn is_tag(line: &str, tag: &str) -> bool {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.len() <= TAG_LINE_BYTES_MAX && line.trim() == tag
}

/// Tells whether more text could make this beginning of a line a tag. Once this is false for
/// a beginning it is false for every longer one.
fn may_become(line: &str, tag: &str) -> bool {
    let begun = line.trim_start();
    let fits = match begun.strip_prefix(tag) {
        Some(rest) => rest.trim().is_empty(),
        None => tag.starts_with(begun),
    };
    fits && line.len() <= TAG_LINE_BYTES_MAX
}

impl<T: 'static> fmt::Debug for TagReader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TagReader")
            .field("within", &self.within.as_ref().map(|tag| tag.open))
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
