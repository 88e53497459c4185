//! The chunks of an update applied to one text.

use crate::limits::QUOTED_LINES_MAX;
use crate::locate::{MatchTolerance, find, nearest};
use crate::note::PatchNote;
use crate::parse::{ChunkLine, PatchChunk, quote};
use crate::text::{FileLine, FileText};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedText {
    pub content: String,
    pub notes: Vec<PatchNote>,
}

/// Why a chunk does not fit. Lines are counted from one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChunkMismatch {
    #[error(
        "no line `{place}` after line {after}; copy the `@@` line from the file or leave it out"
    )]
    NoPlace { place: String, after: usize },
    #[error(
        "these lines stand at line {line}, above a chunk before them; put the chunks in the order of the file:\n{lines}"
    )]
    OutOfOrder { lines: String, line: usize },
    #[error(
        "these lines are not in the file:\n{lines}\nthe first {matched} match at line {line}, then the file has {found}; read the file again and copy its lines"
    )]
    Differs {
        lines: String,
        matched: usize,
        line: usize,
        found: String,
    },
    #[error("these lines are not in the file:\n{lines}\nread the file again and copy its lines")]
    NoLines { lines: String },
    #[error(
        "these lines are not at the end of the file, and there are several places with them (lines {line} and {other}); remove `*** End of File` and name the place with `@@`:\n{lines}"
    )]
    NotAtEnd {
        lines: String,
        line: usize,
        other: usize,
    },
}

/// A run of lines that a chunk replaces.
#[derive(Debug)]
struct LineReplacement<'p> {
    at: usize,
    lines: Vec<LineChange<'p>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineChange<'p> {
    Keep(&'p str),
    Remove(&'p str),
    Add(&'p str),
}

impl<'p> LineChange<'p> {
    fn new(line: &'p ChunkLine) -> Self {
        match line {
            ChunkLine::Keep(text) => Self::Keep(text),
            ChunkLine::Remove(text) => Self::Remove(text),
            ChunkLine::Add(text) => Self::Add(text),
        }
    }

    /// The line that the file must have, if any.
    fn old(self) -> Option<&'p str> {
        match self {
            Self::Keep(text) | Self::Remove(text) => Some(text),
            Self::Add(_) => None,
        }
    }
}

pub fn edit(path: &str, content: &str, chunks: &[PatchChunk]) -> Result<EditedText, ChunkMismatch> {
    let text = FileText::new(content);
    let mut search = ChunkSearch {
        path,
        lines: &text.lines,
        cursor: 0,
        notes: Vec::new(),
    };
    let mut edits = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        edits.push(search.place(chunk)?);
    }
    // Additions to the end may have been given before chunks of the middle. The order is
    // stable: additions below a line come before a chunk that starts there.
    edits.sort_by_key(|edit| edit.at);
    Ok(EditedText {
        content: rewrite(&text, &edits, content.len()),
        notes: search.notes,
    })
}

struct ChunkSearch<'s, 'f> {
    path: &'s str,
    lines: &'s [FileLine<'f>],
    /// The first line that no chunk has claimed yet.
    cursor: usize,
    notes: Vec<PatchNote>,
}

impl ChunkSearch<'_, '_> {
    fn place<'p>(&mut self, chunk: &'p PatchChunk) -> Result<LineReplacement<'p>, ChunkMismatch> {
        for place in &chunk.places {
            self.advance_below(place)?;
        }
        let mut lines: Vec<LineChange<'p>> = chunk.lines.iter().map(LineChange::new).collect();
        if lines.iter().all(|line| line.old().is_none()) {
            let below_place = !chunk.places.is_empty() && !chunk.at_end;
            let at = if below_place {
                self.cursor
            } else {
                self.lines.len()
            };
            return Ok(LineReplacement { at, lines });
        }
        let whole: Vec<&str> = lines.iter().filter_map(|line| line.old()).collect();
        let mut pattern = whole.clone();
        loop {
            if let Some(at) = self.locate(&pattern, chunk.at_end)? {
                self.cursor = at + pattern.len();
                return Ok(LineReplacement { at, lines });
            }
            // A model that counts the end of the last line as one more, empty line, or that
            // leaves a blank line between two operations, means the lines before it.
            if pattern.len() < 2 || pattern.last() != Some(&"") {
                return Err(self.mismatch(&whole));
            }
            pattern.pop();
            forget_last_old(&mut lines);
        }
    }

    fn advance_below(&mut self, place: &str) -> Result<(), ChunkMismatch> {
        let found =
            find(self.lines, &[place], self.cursor).ok_or_else(|| ChunkMismatch::NoPlace {
                place: quote(place),
                after: self.cursor,
            })?;
        self.note_forgiven(found.at, found.forgiven);
        self.cursor = found.at + 1;
        Ok(())
    }

    fn locate(&mut self, pattern: &[&str], at_end: bool) -> Result<Option<usize>, ChunkMismatch> {
        if at_end
            && let Some(tail) = self.lines.len().checked_sub(pattern.len())
            && let Some(found) = find(self.lines, pattern, tail.max(self.cursor))
        {
            self.note_forgiven(found.at, found.forgiven);
            return Ok(Some(found.at));
        }
        let Some(found) = find(self.lines, pattern, self.cursor) else {
            return Ok(None);
        };
        let (path, line) = (self.path.to_owned(), found.at + 1);
        match found.other {
            Some(other) if at_end => {
                return Err(ChunkMismatch::NotAtEnd {
                    lines: quote_lines(pattern),
                    line,
                    other: other + 1,
                });
            }
            Some(other) => self.notes.push(PatchNote::Ambiguous {
                path,
                line,
                other: other + 1,
            }),
            None if at_end => self.notes.push(PatchNote::NotAtEnd { path, line }),
            None => {}
        }
        self.note_forgiven(found.at, found.forgiven);
        Ok(Some(found.at))
    }

    fn note_forgiven(&mut self, at: usize, forgiven: MatchTolerance) {
        if forgiven != MatchTolerance::Nothing {
            self.notes.push(PatchNote::Forgiven {
                path: self.path.to_owned(),
                line: at + 1,
                forgiven,
            });
        }
    }

    fn mismatch(&self, pattern: &[&str]) -> ChunkMismatch {
        let lines = quote_lines(pattern);
        match nearest(self.lines, pattern) {
            Some((at, matched)) if matched == pattern.len() => ChunkMismatch::OutOfOrder {
                lines,
                line: at + 1,
            },
            Some((at, matched)) => ChunkMismatch::Differs {
                lines,
                matched,
                line: at + 1,
                found: match self.lines.get(at + matched) {
                    Some(line) => format!("`{}`", quote(line.text)),
                    None => "its end".to_owned(),
                },
            },
            None => ChunkMismatch::NoLines { lines },
        }
    }
}

/// The last line that the file should have had becomes one that is added if it was to be
/// kept above others, and disappears if nothing follows it.
fn forget_last_old(lines: &mut Vec<LineChange<'_>>) {
    let Some(last) = lines.iter().rposition(|line| line.old().is_some()) else {
        return;
    };
    let followed = last + 1 < lines.len();
    match lines[last] {
        LineChange::Keep(text) if followed => lines[last] = LineChange::Add(text),
        _ => {
            lines.remove(last);
        }
    }
}

fn rewrite(text: &FileText<'_>, edits: &[LineReplacement<'_>], length: usize) -> String {
    let mut out = EditOutput {
        content: String::with_capacity(length + length / 8),
        line_end: text.line_end(),
        open: false,
    };
    out.content.push_str(text.mark);
    let mut lines = text.lines.iter();
    let mut index = 0;
    for edit in edits {
        for line in lines.by_ref().take(edit.at - index) {
            out.keep(line);
        }
        index = edit.at;
        for change in &edit.lines {
            match change {
                LineChange::Add(text) => out.add(text),
                LineChange::Keep(_) => {
                    if let Some(line) = lines.next() {
                        out.keep(line);
                    }
                    index += 1;
                }
                LineChange::Remove(_) => {
                    lines.next();
                    index += 1;
                }
            }
        }
    }
    for line in lines {
        out.keep(line);
    }
    out.content
}

struct EditOutput<'a> {
    content: String,
    line_end: &'a str,
    /// The last line has no end yet.
    open: bool,
}

impl EditOutput<'_> {
    fn keep(&mut self, line: &FileLine<'_>) {
        self.content.push_str(line.text);
        self.content.push_str(line.end);
        self.open = line.end.is_empty();
    }

    fn add(&mut self, text: &str) {
        if self.open {
            self.content.push_str(self.line_end);
            self.open = false;
        }
        self.content.push_str(text);
        self.content.push_str(self.line_end);
    }
}

fn quote_lines(lines: &[&str]) -> String {
    let mut quoted: Vec<String> = lines
        .iter()
        .take(QUOTED_LINES_MAX)
        .map(|line| format!("    {}", quote(line)))
        .collect();
    if lines.len() > QUOTED_LINES_MAX {
        quoted.push(format!("    … {} more", lines.len() - QUOTED_LINES_MAX));
    }
    quoted.join("\n")
}

#[cfg(test)]
mod tests;
