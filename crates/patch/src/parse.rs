//! The patch text, line by line. One state machine serves text that streams in and text
//! that is there at once, so both accept the same patches and report the same errors.

mod line;

use crate::limits::{OPERATIONS_MAX, PATCH_BYTES_MAX};
pub(crate) use line::quote;
use line::{chunk_line, here_document_word, path_of, place_of};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const TAIL: &str = "*** End of File";
/// Names the machine that a client of several works on. There is one here, so it chooses nothing.
const ENVIRONMENT: &str = "*** Environment ID:";

/// A parsed patch. It says nothing yet about the files that exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Patch {
    pub operations: Vec<FileOp>,
}

/// What happens to one file; paths as the patch spells them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOp {
    Add {
        path: String,
        content: String,
    },
    Delete {
        path: String,
    },
    Update {
        path: String,
        move_to: Option<String>,
        chunks: Vec<PatchChunk>,
    },
}

/// One place of a file and what becomes of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchChunk {
    /// Lines to find first, one below the other: the text of `@@` lines.
    pub places: Vec<String>,
    pub lines: Vec<ChunkLine>,
    /// `*** End of File` follows: the lines are the last of the file.
    pub at_end: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChunkLine {
    Keep(String),
    Remove(String),
    Add(String),
}

impl Patch {
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut parser = PatchParser::default();
        parser.push(text)?;
        parser.finish()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("the first line of a patch must be `{BEGIN}`, not `{found}`")]
    NotAPatch { found: String },
    #[error("the patch ends without `{END}`: send the whole patch, with that as its last line")]
    Unfinished,
    #[error("line {line}: nothing may follow `{END}`, but there is `{found}`")]
    AfterEnd { line: usize, found: String },
    #[error(
        "line {line}: `{found}` is not a file header; use `{ADD} PATH`, `{DELETE} PATH` or `{UPDATE} PATH`"
    )]
    UnknownHeader { line: usize, found: String },
    #[error("line {line}: a header needs a path after the colon")]
    NoPath { line: usize },
    #[error("line {line}: every line of an added file starts with `+`, but there is `{found}`")]
    NotAdded { line: usize, found: String },
    #[error("line {line}: the update of {path} changes nothing; give it a chunk or `{MOVE} PATH`")]
    EmptyUpdate { line: usize, path: String },
    #[error("line {line}: the chunk that ends here has no lines")]
    EmptyChunk { line: usize },
    #[error("line {line}: `{MOVE}` stands once, directly below `{UPDATE}`")]
    MisplacedMove { line: usize },
    #[error(
        "line {line}: in an update a line starts with ` ` (unchanged), `+` (added), `-` (removed) or `@@` (next chunk), but there is `{found}`"
    )]
    UnknownLine { line: usize, found: String },
    #[error("line {line}: after `{TAIL}` only `@@` or a file header may follow, not `{found}`")]
    AfterTail { line: usize, found: String },
    #[error("the patch is longer than {PATCH_BYTES_MAX} bytes; split it")]
    TooLong,
    #[error("line {line}: a patch holds at most {OPERATIONS_MAX} files; split it")]
    TooManyFiles { line: usize },
}

/// Reads a patch in pieces of any size.
#[derive(Debug, Default)]
pub struct PatchParser {
    state: PatchParserState,
    operations: Vec<FileOp>,
    /// The start of a line whose end has not come yet.
    partial: String,
    bytes: usize,
    line: usize,
    /// The word that ends a here-document wrapped around the patch.
    delimiter: Option<String>,
}

#[derive(Debug, Default)]
enum PatchParserState {
    #[default]
    Before,
    /// After the begin marker or a deleted file.
    Between,
    /// In the last operation, an add. Blank lines may only be followed by a header.
    Adding {
        blank: Option<usize>,
    },
    /// In the last operation, an update.
    Updating {
        header: usize,
    },
    Ended,
    Failed(ParseError),
}

impl PatchParser {
    /// Takes the next piece. An error is final: it comes back from every later call.
    pub fn push(&mut self, text: &str) -> Result<(), ParseError> {
        self.check_failed()?;
        // Lines before the limit are judged first, so that the cut of the text into pieces
        // cannot decide which of two errors is reported.
        let room = text.floor_char_boundary(PATCH_BYTES_MAX - self.bytes);
        self.bytes += room;
        let mut rest = &text[..room];
        while let Some((head, tail)) = rest.split_once('\n') {
            if self.partial.is_empty() {
                self.take(head)?;
            } else {
                self.partial.push_str(head);
                let line = std::mem::take(&mut self.partial);
                self.take(&line)?;
            }
            rest = tail;
        }
        self.partial.push_str(rest);
        if room < text.len() {
            return Err(self.fail(ParseError::TooLong));
        }
        Ok(())
    }

    /// The operations so far; the last one may still grow.
    pub fn operations(&self) -> &[FileOp] {
        &self.operations
    }

    pub fn finish(mut self) -> Result<Patch, ParseError> {
        self.check_failed()?;
        let last = std::mem::take(&mut self.partial);
        if !last.is_empty() {
            self.take(&last)?;
        }
        if let PatchParserState::Updating { header } = self.state {
            self.take_padded_end(header)?;
        }
        match self.state {
            PatchParserState::Ended => Ok(Patch {
                operations: self.operations,
            }),
            PatchParserState::Failed(error) => Err(error),
            PatchParserState::Before => Err(ParseError::NotAPatch {
                found: String::new(),
            }),
            PatchParserState::Between
            | PatchParserState::Adding { .. }
            | PatchParserState::Updating { .. } => Err(ParseError::Unfinished),
        }
    }

    fn check_failed(&self) -> Result<(), ParseError> {
        match &self.state {
            PatchParserState::Failed(error) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn fail(&mut self, error: ParseError) -> ParseError {
        self.state = PatchParserState::Failed(error.clone());
        error
    }

    fn take(&mut self, line: &str) -> Result<(), ParseError> {
        self.line += 1;
        let line = line.strip_suffix('\r').unwrap_or(line);
        let taken = match self.state {
            PatchParserState::Before => self.take_before(line),
            PatchParserState::Between => self.take_between(line),
            PatchParserState::Adding { blank } => self.take_added(line, blank),
            PatchParserState::Updating { header } => self.take_updated(line, header),
            PatchParserState::Ended => self.take_after_end(line),
            PatchParserState::Failed(_) => self.check_failed(),
        };
        taken.map_err(|error| self.fail(error))
    }

    fn take_before(&mut self, line: &str) -> Result<(), ParseError> {
        let text = line.trim_start_matches('\u{feff}').trim();
        if text == BEGIN {
            self.state = PatchParserState::Between;
        } else if let Some(word) = here_document_word(text)
            && self.delimiter.is_none()
        {
            self.delimiter = Some(word.to_owned());
        } else if !text.is_empty() {
            return Err(ParseError::NotAPatch { found: quote(line) });
        }
        Ok(())
    }

    fn take_between(&mut self, line: &str) -> Result<(), ParseError> {
        let text = line.trim();
        let names_environment = self.operations.is_empty() && text.starts_with(ENVIRONMENT);
        if text.is_empty() || names_environment || self.take_header(text)? {
            return Ok(());
        }
        Err(ParseError::UnknownHeader {
            line: self.line,
            found: quote(line),
        })
    }

    fn take_added(&mut self, line: &str, blank: Option<usize>) -> Result<(), ParseError> {
        if let Some(text) = line.strip_prefix('+') {
            if let Some(blank) = blank {
                return Err(ParseError::NotAdded {
                    line: blank,
                    found: String::new(),
                });
            }
            if let Some(FileOp::Add { content, .. }) = self.operations.last_mut() {
                content.push_str(text);
                content.push('\n');
            }
            return Ok(());
        }
        let text = line.trim();
        if text.is_empty() {
            let first = blank.unwrap_or(self.line);
            self.state = PatchParserState::Adding { blank: Some(first) };
            return Ok(());
        }
        if self.take_header(text)? {
            return Ok(());
        }
        let (line, found) = (self.line, quote(line));
        Err(if text.starts_with("*** ") {
            ParseError::UnknownHeader { line, found }
        } else {
            ParseError::NotAdded { line, found }
        })
    }

    fn take_updated(&mut self, line: &str, header: usize) -> Result<(), ParseError> {
        // Only the right side is trimmed: ` *** End Patch` is an unchanged line of the file.
        let text = line.trim_end();
        if text.starts_with("***") {
            return self.take_update_marker(text, header);
        }
        let number = self.line;
        let Some(FileOp::Update { chunks, .. }) = self.operations.last_mut() else {
            return Ok(());
        };
        if let Some(place) = place_of(text) {
            return open_chunk(chunks, place, number);
        }
        if let Some(PatchChunk { at_end: true, .. }) = chunks.last() {
            if text.is_empty() || self.take_header(text.trim_start())? {
                return Ok(());
            }
            return Err(ParseError::AfterTail {
                line: number,
                found: quote(line),
            });
        }
        let Some(line) = chunk_line(line) else {
            return Err(ParseError::UnknownLine {
                line: number,
                found: quote(line),
            });
        };
        if chunks.is_empty() {
            chunks.push(PatchChunk::default());
        }
        if let Some(chunk) = chunks.last_mut() {
            chunk.lines.push(line);
        }
        Ok(())
    }

    /// An end marker after blanks was taken for an unchanged line; as the very last line of
    /// the text it cannot be one.
    fn take_padded_end(&mut self, header: usize) -> Result<(), ParseError> {
        let Some(FileOp::Update { chunks, .. }) = self.operations.last_mut() else {
            return Ok(());
        };
        let Some(chunk) = chunks.last_mut() else {
            return Ok(());
        };
        let is_text = |line: &ChunkLine| *line != ChunkLine::Keep(String::new());
        let end = chunk.lines.iter().rposition(is_text).unwrap_or(0);
        match chunk.lines.get(end) {
            Some(ChunkLine::Keep(text)) if text.trim() == END => chunk.lines.truncate(end),
            _ => return Ok(()),
        }
        if chunk.lines.is_empty() && chunk.places.is_empty() {
            chunks.pop();
        }
        let ended = self.take_update_marker(END, header);
        ended.map_err(|error| self.fail(error))
    }

    /// A line of an update that starts with three stars.
    fn take_update_marker(&mut self, text: &str, header: usize) -> Result<(), ParseError> {
        let line = self.line;
        let Some(FileOp::Update {
            path,
            move_to,
            chunks,
        }) = self.operations.last_mut()
        else {
            return Ok(());
        };
        if let Some(target) = text.strip_prefix(MOVE) {
            if move_to.is_some() || !chunks.is_empty() {
                return Err(ParseError::MisplacedMove { line });
            }
            *move_to = Some(path_of(target, line)?);
            return Ok(());
        }
        if chunks.last().is_some_and(|chunk| chunk.lines.is_empty()) {
            return Err(ParseError::EmptyChunk { line });
        }
        if text == TAIL {
            let chunk = chunks.last_mut().ok_or(ParseError::EmptyChunk { line })?;
            chunk.at_end = true;
            return Ok(());
        }
        if chunks.is_empty() && move_to.is_none() {
            let path = path.clone();
            return Err(ParseError::EmptyUpdate { line: header, path });
        }
        if self.take_header(text)? {
            return Ok(());
        }
        Err(ParseError::UnknownHeader {
            line,
            found: quote(text),
        })
    }

    /// Takes a file header or the end marker; says whether the line was one.
    fn take_header(&mut self, text: &str) -> Result<bool, ParseError> {
        let line = self.line;
        if text == END {
            self.state = PatchParserState::Ended;
            return Ok(true);
        }
        let (operation, state) = if let Some(path) = text.strip_prefix(ADD) {
            let path = path_of(path, line)?;
            let content = String::new();
            let add = FileOp::Add { path, content };
            (add, PatchParserState::Adding { blank: None })
        } else if let Some(path) = text.strip_prefix(DELETE) {
            let path = path_of(path, line)?;
            (FileOp::Delete { path }, PatchParserState::Between)
        } else if let Some(path) = text.strip_prefix(UPDATE) {
            let update = FileOp::Update {
                path: path_of(path, line)?,
                move_to: None,
                chunks: Vec::new(),
            };
            (update, PatchParserState::Updating { header: line })
        } else {
            return Ok(false);
        };
        if self.operations.len() == OPERATIONS_MAX {
            return Err(ParseError::TooManyFiles { line });
        }
        self.operations.push(operation);
        self.state = state;
        Ok(true)
    }

    fn take_after_end(&mut self, line: &str) -> Result<(), ParseError> {
        let text = line.trim();
        if text.is_empty() {
            return Ok(());
        }
        if self.delimiter.as_deref() == Some(text) {
            self.delimiter = None;
            return Ok(());
        }
        Err(ParseError::AfterEnd {
            line: self.line,
            found: quote(line),
        })
    }
}

fn open_chunk(chunks: &mut Vec<PatchChunk>, place: &str, line: usize) -> Result<(), ParseError> {
    let places = if place.is_empty() {
        Vec::new()
    } else {
        vec![place.to_owned()]
    };
    match chunks.last_mut() {
        Some(chunk) if chunk.lines.is_empty() => {
            // Two places in sequence narrow one chunk; a bare one says nothing new.
            if chunk.places.is_empty() || places.is_empty() {
                return Err(ParseError::EmptyChunk { line });
            }
            chunk.places.extend(places);
        }
        _ => chunks.push(PatchChunk {
            places,
            ..PatchChunk::default()
        }),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
