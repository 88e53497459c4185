//! What was written before, here and in earlier sessions.

use crate::limits::HISTORY_ENTRIES_MAX;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptHistory {
    /// Oldest first.
    entries: Vec<String>,
    walk: Option<HistoryWalk>,
}

/// On the way through it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HistoryWalk {
    at: usize,
    /// What stood in the line before.
    draft: String,
}

impl PromptHistory {
    /// Adds what earlier sessions know, before what this one knows.
    pub fn prepend(&mut self, mut earlier: Vec<String>) {
        earlier.append(&mut self.entries);
        self.entries = earlier;
        self.walk = None;
    }

    pub fn add(&mut self, text: &str) {
        self.walk = None;
        if text.trim().is_empty() || self.entries.last().is_some_and(|last| last == text) {
            return;
        }
        if self.entries.len() >= HISTORY_ENTRIES_MAX {
            self.entries.remove(0);
        }
        self.entries.push(text.to_owned());
    }

    /// Returns the entry before the one that is shown.
    pub fn older(&mut self, shown: &str) -> Option<String> {
        let at = match &self.walk {
            Some(walk) => walk.at.checked_sub(1)?,
            None => self.entries.len().checked_sub(1)?,
        };
        match &mut self.walk {
            Some(walk) => walk.at = at,
            None => {
                self.walk = Some(HistoryWalk {
                    at,
                    draft: shown.to_owned(),
                });
            }
        }
        Some(self.entries[at].clone())
    }

    /// Returns the entry behind the one that is shown; at the end, the draft.
    pub fn newer(&mut self) -> Option<String> {
        let walk = self.walk.as_mut()?;
        walk.at += 1;
        match self.entries.get(walk.at) {
            Some(entry) => Some(entry.clone()),
            None => self.walk.take().map(|walk| walk.draft),
        }
    }

    pub fn stop(&mut self) {
        self.walk = None;
    }

    /// Returns entries that have every word, newest first.
    pub fn search(&self, words: &str) -> Vec<String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        let has_all = |entry: &&String| {
            let entry = entry.to_lowercase();
            words.iter().all(|word| entry.contains(word))
        };
        self.entries.iter().rev().filter(has_all).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_draft_is_behind_the_newest_entry() {
        let mut history = PromptHistory::default();
        history.add("two");
        history.add("two");
        history.prepend(vec!["one".to_owned()]);
        assert_eq!(history.older("draft").as_deref(), Some("two"));
        assert_eq!(history.older("two").as_deref(), Some("one"));
        assert_eq!(history.older("one"), None);
        assert_eq!(history.newer().as_deref(), Some("two"));
        assert_eq!(history.newer().as_deref(), Some("draft"));
        assert_eq!(history.newer(), None);
        assert_eq!(history.search("ON"), ["one"]);
    }
}
