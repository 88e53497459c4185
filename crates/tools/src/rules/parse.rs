//! A rules file, read.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::{CommandRule, PlacedRule};
use crate::limits::RULES_FILE_BYTES_MAX;

/// Why a rules file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct RulesFileError {
    pub file: PathBuf,
    /// `None`: the file as a whole.
    pub line: Option<usize>,
    pub message: String,
}

impl fmt::Display for RulesFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    #[serde(default)]
    rule: Vec<Spanned<CommandRule>>,
}

/// Reads the text of a rules file. One bad rule makes the file bad: leaving out a rule that
/// was meant to forbid would be worse.
pub(super) fn parse(text: &str, file: &Path) -> Result<Vec<PlacedRule>, RulesFileError> {
    let line_of = |offset: usize| 1 + text[..offset.min(text.len())].matches('\n').count();
    let bad = |line, message| RulesFileError {
        file: file.to_owned(),
        line,
        message,
    };
    let contents: RulesFile = toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| line_of(span.start));
        bad(line, error.message().trim().replace('\n', ", "))
    })?;
    let placed = contents.rule.into_iter().map(|spanned| {
        let line = line_of(spanned.span().start);
        let rule = spanned.into_inner();
        rule.check().map_err(|message| bad(Some(line), message))?;
        Ok(PlacedRule {
            rule,
            file: file.to_owned(),
            line,
        })
    });
    placed.collect()
}

/// Reads a rules file that need not exist.
#[cfg(test)]
pub(super) fn read(file: &Path) -> Result<Vec<PlacedRule>, RulesFileError> {
    match read_text(file)? {
        Some(text) => parse(&text, file),
        None => Ok(Vec::new()),
    }
}

/// `None`: there is no such file.
pub(super) fn read_text(file: &Path) -> Result<Option<String>, RulesFileError> {
    let bad = |message: String| RulesFileError {
        file: file.to_owned(),
        line: None,
        message,
    };
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(bad(format!("cannot be read: {error}"))),
    };
    let mut text = String::new();
    opened
        .take(RULES_FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| bad(format!("cannot be read: {error}")))?;
    if text.len() as u64 > RULES_FILE_BYTES_MAX {
        return Err(bad(format!("is longer than {RULES_FILE_BYTES_MAX} bytes")));
    }
    Ok(Some(text))
}
