//! Text of others never acts on the terminal: what would move the cursor, colour, ring or turn
//! the direction of writing around is shown as a sign instead.

use std::borrow::Cow;

use crate::limits::TAB_COLUMNS;

/// Returns one line with nothing in it that a terminal would obey. Tabs become spaces; a line
/// end inside is shown as a sign, because lines are split before.
pub fn clean(line: &str) -> Cow<'_, str> {
    if line.bytes().all(|byte| (0x20..0x7f).contains(&byte)) || !line.chars().any(is_unsafe) {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len());
    for letter in line.chars() {
        match letter {
            '\t' => {
                let column = text.chars().count() % TAB_COLUMNS;
                text.extend(std::iter::repeat_n(' ', TAB_COLUMNS - column));
            }
            letter if is_unsafe(letter) => text.push(sign_of(letter)),
            letter => text.push(letter),
        }
    }
    Cow::Owned(text)
}

/// Tells whether a terminal, or whoever reads the screen, would be led astray by a character.
fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

fn sign_of(letter: char) -> char {
    match letter {
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + letter as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        _ => '\u{fffd}',
    }
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let cases = [
            ("plain", "plain"),
            ("a\tb", "a   b"),
            ("\x1b[2J\x07", "␛[2J␇"),
            ("\u{9b}31m", "\u{fffd}31m"),
            ("abc\u{202e}def", "abc\u{fffd}def"),
            ("zero\u{200b}width", "zero\u{fffd}width"),
            ("👩\u{200d}💻 e\u{301}", "👩\u{200d}💻 e\u{301}"),
        ];
        for (given, shown) in cases {
            assert_eq!(clean(given), shown);
        }
    }
}
