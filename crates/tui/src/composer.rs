//! Where the user writes: a text of several lines with a cursor, what was cut, what was written
//! before, and pastes that stand as chips.

mod buffer;
mod completion;
mod history;
mod vim;

use std::collections::BTreeMap;

pub use buffer::EditBuffer;
pub use completion::{CompletionKind, CompletionList, CompletionNames};
pub use history::PromptHistory;
pub use vim::{VimMode, VimState};

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
    /// Where one writes as in vi.
    pub vim: Option<VimState>,
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

    /// Has one write as in vi, or as usual again; tells whether it is as in vi now.
    pub fn toggle_vim(&mut self) -> bool {
        self.vim = match self.vim {
            Some(_) => None,
            None => Some(VimState::default()),
        };
        self.vim.is_some()
    }

    /// Takes a letter: writes it, or does what it does in the normal mode of vi.
    pub fn letter(&mut self, letter: char) {
        match &mut self.vim {
            Some(vim) if vim.mode == VimMode::Normal => {
                vim.letter(letter, &mut self.buffer, &mut self.cut);
            }
            _ => self.buffer.insert(letter.encode_utf8(&mut [0; 4])),
        }
    }

    /// Takes Esc; `false` if it means nothing to the line.
    pub fn escape(&mut self) -> bool {
        match &mut self.vim {
            Some(vim) => vim.escape(&mut self.buffer),
            None => false,
        }
    }

    /// Tells whether letters are commands.
    pub fn is_normal(&self) -> bool {
        matches!(&self.vim, Some(vim) if vim.mode == VimMode::Normal)
    }

    /// Does what a key of the context `Editor` does; `false` if there is nothing to do.
    pub fn edit(&mut self, action: KeyAction) -> bool {
        match action {
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
            KeyAction::DeleteWordBack => self.cut(EditBuffer::cut_word_back),
            KeyAction::DeleteWordOn => self.cut(EditBuffer::cut_word_on),
            KeyAction::KillToStart => self.cut(EditBuffer::cut_to_line_start),
            KeyAction::KillToEnd => self.cut(EditBuffer::cut_to_line_end),
            KeyAction::Yank => {
                let cut = self.cut.clone();
                self.buffer.insert(&cut);
            }
            action => return self.buffer.edit(action),
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
        // What comes next is written.
        if let Some(vim) = &mut self.vim {
            *vim = VimState::default();
        }
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
