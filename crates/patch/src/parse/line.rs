//! Classification of single lines of a patch.

use super::{ChunkLine, ParseError};
use crate::limits::QUOTED_CHARS_MAX;

/// `<<EOF`, `<<'EOF'` or `<<"EOF"`, perhaps after the command: models send the
/// here-document that they would have written in a shell.
pub fn here_document_word(text: &str) -> Option<&str> {
    let (command, word) = text.split_once("<<")?;
    if !matches!(command.trim(), "" | "apply_patch" | "applypatch") {
        return None;
    }
    let word = word.trim();
    let bare = ['\'', '"']
        .iter()
        .find_map(|&quote| word.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(word);
    let plain = !bare.is_empty() && bare.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    plain.then_some(bare)
}

pub fn path_of(text: &str, line: usize) -> Result<String, ParseError> {
    match text.trim() {
        "" => Err(ParseError::NoPath { line }),
        path => Ok(path.to_owned()),
    }
}

/// The text of an `@@` line: empty for a bare one.
pub fn place_of(text: &str) -> Option<&str> {
    let place = text.strip_prefix("@@")?;
    if place.is_empty() {
        return Some("");
    }
    let place = place.strip_prefix(' ')?;
    Some(match unified_place(place) {
        Some(after_numbers) => after_numbers,
        None => place,
    })
}

/// What follows the numbers of a unified-diff header: `-1,2 +1,3 @@ here`.
fn unified_place(place: &str) -> Option<&str> {
    let (ranges, after) = place.trim_start().split_once("@@")?;
    let (old, new) = ranges.trim().split_once(' ')?;
    let is_range = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == ',');
    let numbers = is_range(old.strip_prefix('-')?) && is_range(new.strip_prefix('+')?);
    numbers.then(|| after.trim_start())
}

pub fn chunk_line(line: &str) -> Option<ChunkLine> {
    let mut chars = line.chars();
    match chars.next() {
        None => Some(ChunkLine::Keep(String::new())),
        Some(' ') => Some(ChunkLine::Keep(chars.as_str().to_owned())),
        Some('-') => Some(ChunkLine::Remove(chars.as_str().to_owned())),
        Some('+') => Some(ChunkLine::Add(chars.as_str().to_owned())),
        Some(_) => None,
    }
}

/// A line as an error shows it.
pub fn quote(line: &str) -> String {
    match line.char_indices().nth(QUOTED_CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}
