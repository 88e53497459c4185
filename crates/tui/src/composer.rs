//! Where the user writes: a text of several lines with a cursor, what was cut, what was written
//! before, and pastes that stand as chips.

mod buffer;
mod completion;
mod history;

use std::collections::BTreeMap;

pub use buffer::EditBuffer;
pub use completion::{CompletionKind, CompletionList};
pub use history::PromptHistory;

use crate::keys::KeyAction;
use crate::limits::{CHIP_LETTERS_MIN, CHIP_LINES_MIN};

/// A text in the making.
#[derive(Debug, Clone, Default)]
pub struct Composer {
    pub buffer: EditBuffer,
    pub history: PromptHistory,
    /// Long pastes, by the chip that stands for each in the text.
    chips: BTreeMap<String, String>,
    chips_made: usize,
    /// What was cut last.
    cut: String,
    pub completion: Option<CompletionList>,
}

/// A draft, put aside while another one is written.
#[derive(Debug, Clone, Default)]
pub struct StoredDraft {
    buffer: EditBuffer,
    chips: BTreeMap<String, String>,
}

impl Composer {
    pub fn is_empty(&self) -> bool {
        self.buffer.text().is_empty()
    }

    /// Does what a key of the context `Editor` does; `false` if there is nothing to do.
    pub fn edit(&mut self, action: KeyAction) -> bool {
        match action {
            KeyAction::NewLine => self.buffer.insert("\n"),
            KeyAction::Left => self.buffer.left(),
            KeyAction::Right => self.buffer.right(),
            KeyAction::WordLeft => self.buffer.word_left(),
            KeyAction::WordRight => self.buffer.word_right(),
            KeyAction::LineStart => self.buffer.line_start(),
            KeyAction::LineEnd => self.buffer.line_end(),
            KeyAction::Up if !self.buffer.up() => {
                if let Some(text) = self.history.older(self.buffer.text()) {
                    self.buffer.set(&text);
                }
            }
            KeyAction::Down if !self.buffer.down() => {
                if let Some(text) = self.history.newer() {
                    self.buffer.set(&text);
                }
            }
            KeyAction::Up | KeyAction::Down => {}
            KeyAction::DeleteBack => self.buffer.delete_back(),
            KeyAction::DeleteOn => self.buffer.delete_on(),
            KeyAction::DeleteWordBack => self.cut(EditBuffer::cut_word_back),
            KeyAction::DeleteWordOn => self.cut(EditBuffer::cut_word_on),
            KeyAction::KillToStart => self.cut(EditBuffer::cut_to_line_start),
            KeyAction::KillToEnd => self.cut(EditBuffer::cut_to_line_end),
            KeyAction::Yank => {
                let cut = self.cut.clone();
                self.buffer.insert(&cut);
            }
            KeyAction::UndoEdit => self.buffer.undo(),
            KeyAction::RedoEdit => self.buffer.redo(),
            _ => return false,
        }
        true
    }

    fn cut(&mut self, cut: impl FnOnce(&mut EditBuffer) -> String) {
        let text = cut(&mut self.buffer);
        if !text.is_empty() {
            self.cut = text;
        }
    }

    /// Inserts a paste; a long one as a chip.
    pub fn paste(&mut self, text: &str) {
        let lines = text.lines().count();
        if text.len() < CHIP_LETTERS_MIN && lines < CHIP_LINES_MIN {
            self.buffer.insert(text);
            return;
        }
        self.chips_made += 1;
        let chip = format!("[paste {}: {lines} lines]", self.chips_made);
        self.buffer.insert(&chip);
        self.chips.insert(chip, text.to_owned());
    }

    /// Returns what was written, pastes in full, and empties the line.
    pub fn take(&mut self) -> String {
        let text = self.expanded();
        self.history.stop();
        self.chips.clear();
        self.completion = None;
        self.buffer = EditBuffer::default();
        text
    }

    /// Returns what was written, pastes in full.
    pub fn expanded(&self) -> String {
        let mut text = self.buffer.text().to_owned();
        for (chip, paste) in &self.chips {
            text = text.replacen(chip.as_str(), paste, 1);
        }
        text
    }

    pub fn store_draft(&mut self) -> StoredDraft {
        self.completion = None;
        StoredDraft {
            buffer: std::mem::take(&mut self.buffer),
            chips: std::mem::take(&mut self.chips),
        }
    }

    pub fn restore_draft(&mut self, draft: StoredDraft) {
        self.buffer = draft.buffer;
        self.chips = draft.chips;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_paste_is_a_chip_and_is_sent_in_full() {
        let mut composer = Composer::default();
        composer.paste("short ");
        let long = "line\n".repeat(240);
        composer.paste(&long);
        assert_eq!(composer.buffer.text(), "short [paste 1: 240 lines]");
        assert_eq!(composer.take(), format!("short {long}"));
        assert!(composer.is_empty());
    }

    #[test]
    fn what_was_cut_comes_back() {
        let mut composer = Composer::default();
        composer.buffer.insert("one two three");
        composer.edit(KeyAction::DeleteWordBack);
        assert_eq!(composer.buffer.text(), "one two ");
        composer.edit(KeyAction::LineStart);
        composer.edit(KeyAction::Yank);
        assert_eq!(composer.buffer.text(), "threeone two ");
        composer.edit(KeyAction::UndoEdit);
        assert_eq!(composer.buffer.text(), "one two ");
    }
}
