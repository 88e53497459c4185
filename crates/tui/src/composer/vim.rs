//! Writing as in vi: the keys of the normal mode. Those of the insert mode are the usual ones.

use super::EditBuffer;
use super::buffer::BufferMotion;
use crate::limits::VIM_COUNT_MAX;

/// What letters do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VimMode {
    /// They are written.
    #[default]
    Insert,
    Normal,
}

/// A letter that waits for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VimPending {
    /// `d`, `c` or `y`, and how often.
    Operator(VimOperator),
    /// `r`.
    Replace,
    /// `g`.
    Goto,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VimOperator {
    Delete,
    Change,
    Yank,
}

/// The mode, and what of a command was typed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VimState {
    pub mode: VimMode,
    pending: Option<VimPending>,
    count: usize,
}

impl VimState {
    /// Leaves the insert mode; `false` if it was left already and nothing is half typed.
    pub fn escape(&mut self, buffer: &mut EditBuffer) -> bool {
        let was_half = self.pending.take().is_some() || self.count > 0;
        self.count = 0;
        if self.mode == VimMode::Insert {
            self.mode = VimMode::Normal;
            if buffer.cursor() > buffer.line_start_at() {
                buffer.left();
            }
            return true;
        }
        was_half
    }

    /// Takes a letter of the normal mode. `cut` is what was cut or copied last.
    pub fn letter(&mut self, letter: char, buffer: &mut EditBuffer, cut: &mut String) {
        if let Some(digit) = letter.to_digit(10)
            && (digit > 0 || self.count > 0)
            && self.pending != Some(VimPending::Replace)
        {
            self.count = (self.count * 10 + digit as usize).min(VIM_COUNT_MAX);
            return;
        }
        match self.pending.take() {
            Some(VimPending::Replace) => {
                buffer.delete_on();
                buffer.insert(letter.encode_utf8(&mut [0; 4]));
                buffer.left();
            }
            Some(VimPending::Goto) => {
                if letter == 'g' {
                    buffer.go(BufferMotion::Start);
                }
            }
            Some(VimPending::Operator(operator)) => self.operate(operator, letter, buffer, cut),
            None => {
                self.command(letter, buffer, cut);
                if self.pending.is_some() {
                    return;
                }
            }
        }
        self.count = 0;
        // In the normal mode the cursor is on a letter, not behind the last.
        if self.mode == VimMode::Normal
            && buffer.is_at_line_end()
            && buffer.cursor() > buffer.line_start_at()
        {
            buffer.left();
        }
    }

    fn command(&mut self, letter: char, buffer: &mut EditBuffer, cut: &mut String) {
        let count = self.count.max(1);
        if let Some(motion) = motion_of(letter) {
            (0..count).for_each(|_| buffer.go(motion));
            return;
        }
        match letter {
            'd' => self.pending = Some(VimPending::Operator(VimOperator::Delete)),
            'c' => self.pending = Some(VimPending::Operator(VimOperator::Change)),
            'y' => self.pending = Some(VimPending::Operator(VimOperator::Yank)),
            'r' => self.pending = Some(VimPending::Replace),
            'g' => self.pending = Some(VimPending::Goto),
            'G' => buffer.go(BufferMotion::End),
            'x' => (0..count).for_each(|_| buffer.delete_on()),
            'X' => (0..count).for_each(|_| buffer.delete_back()),
            'D' => *cut = buffer.cut_to_line_end(),
            'C' => {
                *cut = buffer.cut_to_line_end();
                self.mode = VimMode::Insert;
            }
            's' => {
                (0..count).for_each(|_| buffer.delete_on());
                self.mode = VimMode::Insert;
            }
            'i' => self.mode = VimMode::Insert,
            'a' => {
                buffer.right();
                self.mode = VimMode::Insert;
            }
            'I' => {
                buffer.line_start();
                self.mode = VimMode::Insert;
            }
            'A' => {
                buffer.line_end();
                self.mode = VimMode::Insert;
            }
            'o' => {
                buffer.line_end();
                buffer.insert("\n");
                self.mode = VimMode::Insert;
            }
            'O' => {
                buffer.line_start();
                buffer.insert("\n");
                buffer.left();
                self.mode = VimMode::Insert;
            }
            'p' => {
                if cut.ends_with('\n') {
                    buffer.line_end();
                    buffer.insert(&format!("\n{}", cut.trim_end_matches('\n')));
                    buffer.line_start();
                } else {
                    buffer.right();
                    buffer.insert(cut);
                }
            }
            'P' => buffer.insert(cut),
            'u' => (0..count).for_each(|_| buffer.undo()),
            _ => {}
        }
    }

    fn operate(
        &mut self,
        operator: VimOperator,
        letter: char,
        buffer: &mut EditBuffer,
        cut: &mut String,
    ) {
        let count = self.count.max(1);
        let is_line = matches!(
            (operator, letter),
            (VimOperator::Delete, 'd') | (VimOperator::Change, 'c') | (VimOperator::Yank, 'y')
        );
        let range = match motion_of(letter) {
            _ if is_line => buffer.whole_line(operator != VimOperator::Change),
            // A change of a word leaves the blanks behind it.
            Some(BufferMotion::NextWord) if operator == VimOperator::Change => {
                buffer.range_of(BufferMotion::WordEnd, count)
            }
            Some(motion) => buffer.range_of(motion, count),
            None => return,
        };
        buffer.text()[range.clone()].clone_into(cut);
        if is_line && !cut.ends_with('\n') {
            cut.push('\n');
        }
        match operator {
            VimOperator::Yank => {}
            VimOperator::Delete => buffer.replace(range, ""),
            VimOperator::Change => {
                buffer.replace(range, "");
                self.mode = VimMode::Insert;
            }
        }
    }
}

fn motion_of(letter: char) -> Option<BufferMotion> {
    Some(match letter {
        'h' => BufferMotion::Left,
        'l' | ' ' => BufferMotion::Right,
        'j' => BufferMotion::Down,
        'k' => BufferMotion::Up,
        'w' | 'W' => BufferMotion::NextWord,
        'b' | 'B' => BufferMotion::WordStart,
        'e' | 'E' => BufferMotion::WordEnd,
        '0' | '^' => BufferMotion::LineStart,
        '$' => BufferMotion::LineEnd,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types letters into a text, with `<` for Esc; returns the text with the cursor in it.
    fn typed(text: &str, letters: &str) -> String {
        let mut buffer = EditBuffer::default();
        buffer.insert(text);
        let mut vim = VimState::default();
        let mut cut = String::new();
        vim.escape(&mut buffer);
        for letter in letters.chars() {
            match (letter, vim.mode) {
                ('<', _) => drop(vim.escape(&mut buffer)),
                (letter, VimMode::Normal) => vim.letter(letter, &mut buffer, &mut cut),
                (letter, VimMode::Insert) => buffer.insert(letter.encode_utf8(&mut [0; 4])),
            }
        }
        let mut shown = buffer.text().to_owned();
        shown.insert(buffer.cursor(), '|');
        shown
    }

    #[test]
    fn words_and_lines_are_moved_over_cut_and_changed() {
        let cases = [
            ("one two", "", "one tw|o"),
            ("one two", "0w", "one |two"),
            ("one two three", "02w", "one two |three"),
            ("one two", "0dw", "|two"),
            ("one two", "0cwONE<", "ON|E two"),
            ("one two", "0D", "|"),
            ("one two", "bcetwo2<", "one two|2"),
            ("one", "rx", "on|x"),
            ("one", "xx", "|o"),
            ("one\ntwo", "ggdd", "|two"),
            ("one\ntwo", "ggyyjp", "one\ntwo\n|one"),
            ("one", "ddu", "on|e"),
            ("one", "otwo<", "one\ntw|o"),
            ("one", "Otwo<", "tw|o\none"),
        ];
        for (text, letters, expected) in cases {
            assert_eq!(typed(text, letters), expected, "{text:?} {letters}");
        }
    }
}
