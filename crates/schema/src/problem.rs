//! Validation errors of values, and errors of schemas.

use std::fmt;

use thiserror::Error;

use crate::limits::{NODES_MAX, PATTERN_BYTES_MAX, PATTERNS_MAX, QUOTE_CHARS_MAX};

/// A place in a value, and what is wrong there. Models read it and correct themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueProblem {
    /// A JSON pointer; empty for the whole value.
    pub place: String,
    pub text: String,
}

impl fmt::Display for ValueProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", PointerDisplay(&self.place), self.text)
    }
}

/// A place in a schema, and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {defect}", PointerDisplay(place))]
pub struct SchemaError {
    /// A JSON pointer; empty for the whole schema.
    pub place: String,
    pub defect: SchemaDefect,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SchemaDefect {
    #[error("the keyword {} is not supported; leave it out or say it otherwise", quoted(.0))]
    Unsupported(String),
    #[error("expected a schema: an object of keywords, true or false")]
    NotASchema,
    #[error("`{keyword}` must be {expected}")]
    Expected {
        keyword: &'static str,
        expected: &'static str,
    },
    #[error("{} is no type; use null, boolean, integer, number, string, array or object", quoted(.0))]
    UnknownType(String),
    #[error("the pattern {} is not supported: {why}", quoted(pattern))]
    Pattern { pattern: String, why: String },
    #[error("there are more than {PATTERNS_MAX} patterns; use fewer")]
    TooManyPatterns,
    #[error("`$ref` {} is not supported; refer to a place in this schema, such as #/$defs/name", quoted(.0))]
    NotLocal(String),
    #[error("`$ref` {} leads nowhere; add what it refers to", quoted(.0))]
    NowhereToGo(String),
    #[error(
        "the schema refers to itself for the same value, which never ends; let it refer to itself from a property or an item"
    )]
    Endless,
    #[error("no value fits this, because it contradicts itself; leave out what cannot be kept")]
    Impossible,
    #[error("there are more than {NODES_MAX} schemas in this one; make it smaller")]
    TooLarge,
}

impl SchemaDefect {
    pub(super) fn at(self, place: &str) -> SchemaError {
        SchemaError {
            place: place.to_owned(),
            defect: self,
        }
    }

    /// Tells of a pattern that needs more memory than one may take.
    pub(super) fn large_pattern(pattern: &str) -> Self {
        Self::Pattern {
            pattern: pattern.to_owned(),
            why: format!("it needs more than {PATTERN_BYTES_MAX} bytes; make it simpler"),
        }
    }
}

/// A JSON pointer as it is told. Keys are anybody's text.
struct PointerDisplay<'a>(&'a str);

impl fmt::Display for PointerDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => f.write_str("at the top"),
            place => write!(f, "at {}", shortened(&place.escape_debug().to_string())),
        }
    }
}

/// Returns a text between quotation marks, in one line and not too long.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", shortened(&text.escape_debug().to_string()))
}

pub(super) fn shortened(text: &str) -> String {
    beginning(text, QUOTE_CHARS_MAX)
}

/// Returns the beginning of a text, with `…` if there is more.
pub(super) fn beginning(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
