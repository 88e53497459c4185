//! What people typed in a home: one line of JSON for each, appended whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::limits::{PROMPT_BYTES_MAX, PROMPTS_BYTES_MAX};

const FILE_MODE: u32 = 0o600;

#[derive(Debug, Serialize, Deserialize)]
struct PromptLine {
    text: String,
}

/// The file that they are kept in. It may be absent, and lines that nobody can read are passed
/// over.
#[derive(Debug, Clone)]
pub struct PromptHistory {
    path: PathBuf,
}

impl PromptHistory {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns the newest ones, oldest first.
    pub fn newest(&self, limit: usize) -> io::Result<Vec<String>> {
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text?,
        };
        let prompts = text.lines().rev().filter_map(|line| {
            let line: PromptLine = serde_json::from_str(line).ok()?;
            Some(line.text)
        });
        let mut prompts: Vec<String> = prompts.take(limit).collect();
        prompts.reverse();
        Ok(prompts)
    }

    /// Adds one, unless it is the same as the last one, or too long to be typed again.
    pub fn add(&self, text: &str) -> io::Result<()> {
        if text.len() > PROMPT_BYTES_MAX || self.newest(1)?.first().is_some_and(|it| it == text) {
            return Ok(());
        }
        let line = PromptLine {
            text: text.to_owned(),
        };
        let mut line = serde_json::to_vec(&line)?;
        line.push(b'\n');
        let mut file = self.open()?;
        file.write_all(&line)?;
        if file.metadata()?.len() > PROMPTS_BYTES_MAX {
            self.halve()?;
        }
        Ok(())
    }

    fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(FILE_MODE);
        options.open(&self.path)
    }

    /// Drops the older half of the lines.
    fn halve(&self) -> io::Result<()> {
        let text = fs::read_to_string(&self.path)?;
        let middle = text.floor_char_boundary(text.len() / 2);
        let kept = text[middle..].split_once('\n').map_or("", |(_, rest)| rest);
        let beside = self.path.with_extension("tmp");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        options
            .mode(FILE_MODE)
            .open(&beside)?
            .write_all(kept.as_bytes())?;
        fs::rename(&beside, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_comes_back_in_order_and_once() {
        let directory = tempfile::tempdir().unwrap();
        let prompts = PromptHistory::new(directory.path().join("prompts.jsonl"));
        assert!(prompts.newest(10).unwrap().is_empty());
        for text in ["one", "two\nlines", "two\nlines", "three"] {
            prompts.add(text).unwrap();
        }
        assert_eq!(prompts.newest(10).unwrap(), ["one", "two\nlines", "three"]);
        assert_eq!(prompts.newest(1).unwrap(), ["three"]);
    }

    #[test]
    fn the_file_stays_bounded_and_the_newest_stay() {
        let directory = tempfile::tempdir().unwrap();
        let prompts = PromptHistory::new(directory.path().join("prompts.jsonl"));
        for number in 0..40 {
            prompts
                .add(&format!("{number} {}", "x".repeat(PROMPT_BYTES_MAX - 10)))
                .unwrap();
        }
        let size = fs::metadata(&prompts.path).unwrap().len();
        assert!(size <= PROMPTS_BYTES_MAX, "{size}");
        let newest = prompts.newest(1).unwrap();
        assert!(newest[0].starts_with("39 "));
    }
}
