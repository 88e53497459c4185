//! Text with a cursor between its letters, and a way back.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::keys::KeyAction;
use crate::limits::UNDO_STEPS_MAX;
use crate::text::{clean, text_width};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditBuffer {
    text: String,
    /// A byte between two letters.
    cursor: usize,
    undo: Vec<EditStep>,
    redo: Vec<EditStep>,
    /// Letters that are typed one after the other are one step.
    is_typing: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct EditStep {
    text: String,
    cursor: usize,
}

/// Where the cursor can be moved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferMotion {
    Left,
    Right,
    Up,
    Down,
    /// The beginning of the next word.
    NextWord,
    /// The beginning of this word, or of the one before.
    WordStart,
    /// The end of this word, or of the next.
    WordEnd,
    LineStart,
    LineEnd,
    Start,
    End,
}

impl EditBuffer {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Puts another text in the place of all; the cursor stands at its end.
    pub fn set(&mut self, text: &str) {
        self.keep();
        text.clone_into(&mut self.text);
        self.cursor = self.text.len();
    }

    pub fn insert(&mut self, text: &str) {
        let is_letter = text.chars().count() == 1 && text != "\n" && text != " ";
        if !(self.is_typing && is_letter) {
            self.keep();
        }
        self.is_typing = is_letter;
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        // A mark may join the letter before it.
        if !self.text.is_char_boundary(self.cursor) {
            self.cursor = self.text.len();
        }
    }

    /// Puts a text in the place of a part, and the cursor behind it.
    pub fn replace(&mut self, range: std::ops::Range<usize>, text: &str) {
        self.keep();
        self.text.replace_range(range.clone(), text);
        self.cursor = range.start + text.len();
    }

    /// Does what a key of the context `Editor` does to a text alone; `false` if it does nothing.
    pub fn edit(&mut self, action: KeyAction) -> bool {
        match action {
            KeyAction::NewLine => self.insert("\n"),
            KeyAction::Left => self.left(),
            KeyAction::Right => self.right(),
            KeyAction::WordLeft => self.word_left(),
            KeyAction::WordRight => self.word_right(),
            KeyAction::LineStart => self.line_start(),
            KeyAction::LineEnd => self.line_end(),
            KeyAction::DeleteBack => self.delete_back(),
            KeyAction::DeleteOn => self.delete_on(),
            KeyAction::DeleteWordBack => drop(self.cut_word_back()),
            KeyAction::DeleteWordOn => drop(self.cut_word_on()),
            KeyAction::KillToStart => drop(self.cut_to_line_start()),
            KeyAction::KillToEnd => drop(self.cut_to_line_end()),
            KeyAction::UndoEdit => self.undo(),
            KeyAction::RedoEdit => self.redo(),
            _ => return false,
        }
        true
    }

    /// Moves the cursor.
    pub fn go(&mut self, motion: BufferMotion) {
        match motion {
            BufferMotion::Left => self.left(),
            BufferMotion::Right => self.right(),
            BufferMotion::Up => drop(self.up()),
            BufferMotion::Down => drop(self.down()),
            BufferMotion::NextWord => self.cursor = self.next_word(),
            BufferMotion::WordStart => self.word_left(),
            BufferMotion::WordEnd => self.word_right(),
            BufferMotion::LineStart => self.line_start(),
            BufferMotion::LineEnd => self.line_end(),
            BufferMotion::Start => self.cursor = 0,
            BufferMotion::End => self.cursor = self.text.len(),
        }
        self.is_typing = false;
    }

    /// Returns what lies between the cursor and where a motion leads.
    pub fn range_of(&self, motion: BufferMotion, count: usize) -> std::ops::Range<usize> {
        let mut moved = Self {
            text: self.text.clone(),
            cursor: self.cursor,
            ..Self::default()
        };
        (0..count).for_each(|_| moved.go(motion));
        self.cursor.min(moved.cursor)..self.cursor.max(moved.cursor)
    }

    /// Returns the line of the cursor, with its end if that is asked for.
    pub fn whole_line(&self, with_end: bool) -> std::ops::Range<usize> {
        let line = self.line();
        if !with_end {
            return line;
        }
        if line.end < self.text.len() {
            line.start..line.end + 1
        } else {
            line.start.saturating_sub(1)..line.end
        }
    }

    pub fn is_at_line_end(&self) -> bool {
        self.line().end == self.cursor
    }

    pub fn line_start_at(&self) -> usize {
        self.line().start
    }

    fn next_word(&self) -> usize {
        let rest = &self.text[self.cursor..];
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let behind = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        let next = rest[behind..].find(|letter: char| !letter.is_whitespace());
        // A sign that is no word is one by itself.
        let at = behind + next.unwrap_or(rest.len() - behind);
        if at == 0 {
            self.behind()
        } else {
            self.cursor + at
        }
    }

    pub fn left(&mut self) {
        self.cursor = self.before();
        self.is_typing = false;
    }

    pub fn right(&mut self) {
        self.cursor = self.behind();
        self.is_typing = false;
    }

    pub fn word_left(&mut self) {
        self.cursor = self.word_before();
        self.is_typing = false;
    }

    pub fn word_right(&mut self) {
        self.cursor = self.word_behind();
        self.is_typing = false;
    }

    pub fn line_start(&mut self) {
        self.cursor = self.line().start;
        self.is_typing = false;
    }

    pub fn line_end(&mut self) {
        self.cursor = self.line().end;
        self.is_typing = false;
    }

    /// Moves a line up; `false` in the first.
    pub fn up(&mut self) -> bool {
        let line = self.line();
        if line.start == 0 {
            return false;
        }
        let column = text_width(&clean(&self.text[line.start..self.cursor]));
        self.cursor = line.start - 1;
        self.go_to_column(column);
        true
    }

    /// Moves a line down; `false` in the last.
    pub fn down(&mut self) -> bool {
        let line = self.line();
        if line.end == self.text.len() {
            return false;
        }
        let column = text_width(&clean(&self.text[line.start..self.cursor]));
        self.cursor = line.end + 1;
        self.go_to_column(column);
        true
    }

    pub fn delete_back(&mut self) {
        self.remove(self.before()..self.cursor);
    }

    pub fn delete_on(&mut self) {
        self.remove(self.cursor..self.behind());
    }

    pub fn cut_word_back(&mut self) -> String {
        self.remove(self.word_before()..self.cursor)
    }

    pub fn cut_word_on(&mut self) -> String {
        self.remove(self.cursor..self.word_behind())
    }

    pub fn cut_to_line_start(&mut self) -> String {
        self.remove(self.line().start..self.cursor)
    }

    /// At the end of a line, the line end itself.
    pub fn cut_to_line_end(&mut self) -> String {
        let end = self.line().end;
        let end = if end == self.cursor {
            self.behind()
        } else {
            end
        };
        self.remove(self.cursor..end)
    }

    pub fn undo(&mut self) {
        if let Some(step) = self.undo.pop() {
            let now = self.step();
            self.redo.push(now);
            self.restore(step);
        }
    }

    pub fn redo(&mut self) {
        if let Some(step) = self.redo.pop() {
            let now = self.step();
            self.undo.push(now);
            self.restore(step);
        }
    }

    fn step(&self) -> EditStep {
        EditStep {
            text: self.text.clone(),
            cursor: self.cursor,
        }
    }

    fn restore(&mut self, step: EditStep) {
        self.text = step.text;
        self.cursor = step.cursor;
        self.is_typing = false;
    }

    fn keep(&mut self) {
        self.is_typing = false;
        self.redo.clear();
        if self.undo.len() >= UNDO_STEPS_MAX {
            self.undo.remove(0);
        }
        let now = self.step();
        self.undo.push(now);
    }

    fn remove(&mut self, range: std::ops::Range<usize>) -> String {
        if range.is_empty() {
            return String::new();
        }
        self.keep();
        let removed = self.text[range.clone()].to_owned();
        self.text.replace_range(range.clone(), "");
        self.cursor = range.start;
        removed
    }

    fn before(&self) -> usize {
        let last = self.text[..self.cursor].graphemes(true).next_back();
        self.cursor - last.map_or(0, str::len)
    }

    fn behind(&self) -> usize {
        let next = self.text[self.cursor..].graphemes(true).next();
        self.cursor + next.map_or(0, str::len)
    }

    fn word_before(&self) -> usize {
        let text = &self.text[..self.cursor];
        let words = text.trim_end_matches(|letter: char| !letter.is_alphanumeric());
        let at = words.rfind(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
        at.map_or(0, |at| {
            at + words[at..].chars().next().map_or(0, char::len_utf8)
        })
    }

    fn word_behind(&self) -> usize {
        let text = &self.text[self.cursor..];
        let start = text.find(char::is_alphanumeric).unwrap_or(text.len());
        let rest = &text[start..];
        let length = rest.find(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
        self.cursor + start + length.unwrap_or(rest.len())
    }

    fn line(&self) -> std::ops::Range<usize> {
        let start = self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1);
        let end = self.text[self.cursor..].find('\n');
        start..end.map_or(self.text.len(), |at| self.cursor + at)
    }

    fn go_to_column(&mut self, column: usize) {
        let line = self.line();
        let mut used = 0;
        self.cursor = line.start;
        for grapheme in self.text[line.clone()].graphemes(true) {
            if used >= column {
                break;
            }
            used += text_width(&clean(grapheme));
            self.cursor += grapheme.len();
        }
        self.is_typing = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_what_people_take_for_letters() {
        let mut buffer = EditBuffer::default();
        for letter in ["a", "👩\u{200d}💻", "e\u{301}"] {
            buffer.insert(letter);
        }
        buffer.left();
        buffer.delete_back();
        assert_eq!(buffer.text(), "ae\u{301}");
        assert_eq!(buffer.cursor(), 1);
    }

    #[test]
    fn lines_are_moved_through_by_column() {
        let mut buffer = EditBuffer::default();
        buffer.insert("日本語\nabcdef\nx");
        assert!(buffer.up() && buffer.up());
        assert!(!buffer.up());
        buffer.line_end();
        assert!(buffer.down());
        buffer.insert("|");
        assert_eq!(buffer.text(), "日本語\nabcdef|\nx");
        assert!(buffer.down() && !buffer.down());
    }

    #[test]
    fn typing_is_undone_word_by_word_and_done_again() {
        let mut buffer = EditBuffer::default();
        for letter in "one two".chars() {
            buffer.insert(&letter.to_string());
        }
        buffer.undo();
        assert_eq!(buffer.text(), "one ");
        buffer.redo();
        assert_eq!(buffer.text(), "one two");
        buffer.undo();
        buffer.insert("x");
        buffer.redo();
        assert_eq!(buffer.text(), "one x");
    }
}
