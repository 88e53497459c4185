//! What people typed in a home.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::home_lines::HomeLines;
use crate::limits::{PROMPT_BYTES_MAX, PROMPTS_BYTES_MAX};

#[derive(Debug, Serialize, Deserialize)]
struct PromptLine {
    text: String,
}

/// The file that they are kept in.
#[derive(Debug, Clone)]
pub struct PromptHistory {
    lines: HomeLines,
}

impl PromptHistory {
    pub fn new(path: PathBuf) -> Self {
        let lines = HomeLines::new(path, PROMPTS_BYTES_MAX);
        Self { lines }
    }

    /// Returns the newest ones, oldest first.
    pub fn newest(&self, limit: usize) -> io::Result<Vec<String>> {
        let lines: Vec<PromptLine> = self.lines.newest(limit)?;
        Ok(lines.into_iter().rev().map(|line| line.text).collect())
    }

    /// Adds one, unless it is the same as the last one, or too long to be typed again.
    pub fn add(&self, text: &str) -> io::Result<()> {
        if text.len() > PROMPT_BYTES_MAX || self.newest(1)?.first().is_some_and(|it| it == text) {
            return Ok(());
        }
        self.lines.add(&PromptLine {
            text: text.to_owned(),
        })
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
        let path = directory.path().join("prompts.jsonl");
        let prompts = PromptHistory::new(path.clone());
        for number in 0..40 {
            prompts
                .add(&format!("{number} {}", "x".repeat(PROMPT_BYTES_MAX - 10)))
                .unwrap();
        }
        let size = std::fs::metadata(&path).unwrap().len();
        assert!(size <= PROMPTS_BYTES_MAX, "{size}");
        let newest = prompts.newest(1).unwrap();
        assert!(newest[0].starts_with("39 "));
    }
}
