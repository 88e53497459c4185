//! What `/`, `@` and Ctrl+R offer while one writes.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher};

use crate::commands::COMMANDS;
use crate::limits::COMPLETION_ROWS;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionKind {
    /// `/name` at the beginning of the line.
    Command,
    /// `@path` anywhere.
    File,
    /// `$name` anywhere.
    Skill,
    /// Something written before.
    History,
}

/// The rows that are offered, best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionList {
    pub kind: CompletionKind,
    /// The part of the text that a choice takes the place of.
    pub range: std::ops::Range<usize>,
    pub rows: Vec<String>,
    pub chosen: usize,
}

/// What there is to name, beside the commands of the screen.
#[derive(Debug, Clone, Copy)]
pub struct CompletionNames<'a> {
    pub files: &'a [String],
    pub skills: &'a [String],
    /// Prompts that are called by name: those that were written down, and those of servers.
    pub prompts: &'a [String],
}

impl CompletionList {
    /// Returns what is offered for the word before the cursor.
    pub fn at(text: &str, cursor: usize, names: CompletionNames<'_>) -> Option<Self> {
        let before = &text[..cursor];
        let start = before.rfind(char::is_whitespace).map_or(0, |at| {
            at + before[at..].chars().next().map_or(0, char::len_utf8)
        });
        let word = &before[start..];
        let (kind, rows) = if start == 0 && word.starts_with('/') {
            let own = COMMANDS.iter().map(|command| command.name);
            let all = own.chain(names.prompts.iter().map(String::as_str));
            let starting = all.filter(|name| name.starts_with(&word[1..]));
            (
                CompletionKind::Command,
                starting.map(str::to_owned).collect(),
            )
        } else if let Some(query) = word.strip_prefix('@') {
            (CompletionKind::File, best(query, names.files))
        } else if let Some(query) = word.strip_prefix('$').filter(|_| !names.skills.is_empty()) {
            (CompletionKind::Skill, best(query, names.skills))
        } else {
            return None;
        };
        let rows: Vec<String> = rows;
        (!rows.is_empty()).then_some(Self {
            kind,
            range: start..cursor,
            rows,
            chosen: 0,
        })
    }

    /// Returns what takes the place of the range.
    pub fn replacement(&self) -> String {
        let row = self.rows.get(self.chosen).cloned().unwrap_or_default();
        match self.kind {
            CompletionKind::Command => format!("/{row} "),
            CompletionKind::File if row.contains(' ') => format!("\"{row}\" "),
            CompletionKind::File => format!("{row} "),
            CompletionKind::Skill => format!("${row} "),
            CompletionKind::History => row,
        }
    }

    pub fn step(&mut self, down: bool) {
        let count = self.rows.len();
        self.chosen = if down {
            (self.chosen + 1) % count
        } else {
            (self.chosen + count - 1) % count
        };
    }
}

/// Returns the names that a query means, best first.
fn best(query: &str, names: &[String]) -> Vec<String> {
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
    let found = pattern.match_list(names, &mut matcher);
    found
        .into_iter()
        .take(COMPLETION_ROWS)
        .map(|(name, _)| name.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_offer_commands_and_files() {
        let files = ["src/lex.rs".to_owned(), "docs/my file.md".to_owned()];
        let prompts = ["ship".to_owned()];
        let names = CompletionNames {
            files: &files,
            skills: &[],
            prompts: &prompts,
        };
        let at = |text: &str| CompletionList::at(text, text.len(), names);
        assert_eq!(at("/sh").unwrap().rows, ["ship"]);
        let file = at("look at @lex").unwrap();
        assert_eq!(
            (file.kind, file.range.clone()),
            (CompletionKind::File, 8..12)
        );
        assert_eq!(file.replacement(), "src/lex.rs ");
        assert_eq!(at("@myfile").unwrap().replacement(), "\"docs/my file.md\" ");
        let command = at("/compa").unwrap();
        assert_eq!(command.replacement(), "/compact ");
        assert_eq!(at("say /compact"), None);
        assert_eq!(at("a@b "), None);
    }
}
