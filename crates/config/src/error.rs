//! What can be wrong with a configuration.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::entry::ValueOrigin;
use crate::key::KeyPath;
use crate::limits::{FILE_BYTES_MAX, QUOTE_CHARS_MAX};

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}: {why}", path.display())]
    Read { path: PathBuf, why: io::Error },
    #[error("{} is larger than {FILE_BYTES_MAX} bytes", path.display())]
    TooLarge { path: PathBuf },
    #[error(transparent)]
    Syntax(Box<SyntaxError>),
    #[error(transparent)]
    BadValue(Box<BadValue>),
    #[error("-c {argument}: expected key=value with a dotted key, such as -c model=\"gpt-5\"")]
    Argument { argument: String },
    #[error(
        "{origin}: the profile \"{name}\" is chosen but {}",
        no_such_profile(known)
    )]
    UnknownProfile {
        name: String,
        origin: ValueOrigin,
        known: Vec<String>,
    },
}

fn no_such_profile(known: &[String]) -> String {
    match known {
        [] => "there is no [profiles] table".to_owned(),
        names => format!("only these are defined: {}", names.join(", ")),
    }
}

/// Text that is not TOML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The file's path, or the argument.
    pub source: String,
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    pub message: String,
    /// The text of the line.
    pub snippet: String,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            source,
            line,
            column,
            message,
            snippet,
        } = self;
        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        write!(f, "{source}:{line}:{column}: {message}")?;
        // A caret far to the right of a cut line would point at nothing.
        if *column > QUOTE_CHARS_MAX {
            return Ok(());
        }
        let shown: String = snippet.chars().take(QUOTE_CHARS_MAX).collect();
        let indent = " ".repeat(column.saturating_sub(1));
        write!(f, "\n{gutter} |\n{number} | {shown}\n{gutter} | {indent}^")
    }
}

impl std::error::Error for SyntaxError {}

/// A key that exists, with a value that it cannot have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadValue {
    pub key: KeyPath,
    pub origin: ValueOrigin,
    /// "expected …, found …".
    pub problem: String,
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.origin, self.key, self.problem)
    }
}

impl std::error::Error for BadValue {}
