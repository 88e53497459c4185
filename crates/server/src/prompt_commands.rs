//! Prompts with a name, which people call as `/name words`: those that somebody wrote down in a
//! file, and those that MCP servers offer.

use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use troupe_protocol::link::query::PromptCommand;

/// Whoever knows the prompts of a directory.
#[async_trait]
pub trait PromptCommandLibrary: Send + Sync + fmt::Debug {
    /// Returns what can be called there. May start the servers of the directory.
    async fn commands(&self, cwd: &Path) -> Vec<PromptCommand>;

    /// Returns what a line `/name words` stands for there; none if nothing has the name. An error
    /// is for people.
    async fn fill(&self, cwd: &Path, line: &str) -> Result<Option<FilledCommand>, String>;
}

/// A prompt as it is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilledCommand {
    pub text: String,
    /// What a person should know of it, a sentence each.
    pub notes: Vec<String>,
}

/// Splits `/name words` at the beginning of a line. Paths and other words with a slash are none.
pub fn called_command(line: &str) -> Option<(&str, &str)> {
    let line = line.strip_prefix('/')?;
    let (name, words) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let is_part = |letter: char| letter.is_alphanumeric() || "-_:".contains(letter);
    let is_name = !name.is_empty() && name.chars().all(is_part);
    is_name.then_some((name, words.trim()))
}

#[cfg(test)]
mod tests {
    use super::called_command;

    #[test]
    fn a_name_is_called_and_a_path_is_not() {
        assert_eq!(called_command("/fix 12 now"), Some(("fix", "12 now")));
        assert_eq!(called_command("/ui:button"), Some(("ui:button", "")));
        assert_eq!(called_command("/etc/hosts is wrong"), None);
        assert_eq!(called_command("/ what"), None);
        assert_eq!(called_command("fix /this"), None);
    }
}
