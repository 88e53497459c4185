//! Output of commands: colours are read, everything else that a terminal would obey is left out.

use super::row::TextSpan;
use super::style::{Ink, TextStyle};

/// Reads lines of output; the style goes on from one line to the next.
#[derive(Debug, Clone, Default)]
pub struct AnsiReader {
    style: TextStyle,
}

impl AnsiReader {
    /// Returns one line. What was overwritten by a carriage return is left out.
    pub fn line(&mut self, line: &str) -> Vec<TextSpan> {
        let line = line.trim_end_matches('\r');
        let shown = line.rfind('\r').map_or(0, |at| at + 1);
        // Colours before the carriage return still hold.
        self.read(&line[..shown]);
        self.read(&line[shown..])
    }

    fn read(&mut self, text: &str) -> Vec<TextSpan> {
        let mut spans = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('\x1b') {
            self.add(&mut spans, &rest[..at]);
            rest = self.sequence(&rest[at + 1..]);
        }
        self.add(&mut spans, rest);
        spans
    }

    fn add(&self, spans: &mut Vec<TextSpan>, text: &str) {
        if !text.is_empty() {
            spans.push(TextSpan::new(text, self.style));
        }
    }

    /// Takes one escape sequence off, and returns what follows it.
    fn sequence<'a>(&mut self, text: &'a str) -> &'a str {
        let mut letters = text.char_indices();
        match letters.next() {
            Some((_, '[')) => {
                let end = letters.find(|(_, letter)| ('\u{40}'..='\u{7e}').contains(letter));
                let Some((at, last)) = end else { return "" };
                if last == 'm' {
                    self.colours(&text[1..at]);
                }
                &text[at + last.len_utf8()..]
            }
            Some((_, ']' | 'P' | '_' | '^' | 'X')) => {
                let end = text.find(['\x07', '\x1b']);
                let Some(at) = end else { return "" };
                let rest = &text[at + 1..];
                rest.strip_prefix('\\').unwrap_or(rest)
            }
            Some((_, '(' | ')' | '#')) => letters.nth(1).map_or("", |(at, _)| &text[at..]),
            Some((_, letter)) => &text[letter.len_utf8()..],
            None => "",
        }
    }

    fn colours(&mut self, parameters: &str) {
        let mut numbers = parameters.split([';', ':']);
        while let Some(number) = numbers.next() {
            match number.parse().unwrap_or(0) {
                0_u16 => self.style = TextStyle::PLAIN,
                1 => self.style.bold = true,
                2 => self.style.dim = true,
                3 => self.style.italic = true,
                4 => self.style.underline = true,
                9 => self.style.strike = true,
                22 => (self.style.bold, self.style.dim) = (false, false),
                23 => self.style.italic = false,
                24 => self.style.underline = false,
                29 => self.style.strike = false,
                code @ (31..=36 | 91..=96) => self.style.ink = ink_of(code % 10),
                30 | 37 | 39 | 90 | 97 => self.style.ink = None,
                // Colours of other palettes are not the terminal's own.
                38 | 48 => {
                    let skipped = match numbers.next() {
                        Some("5") => 1,
                        Some("2") => 3,
                        _ => 0,
                    };
                    numbers.by_ref().take(skipped).for_each(drop);
                }
                _ => {}
            }
        }
    }
}

fn ink_of(digit: u16) -> Option<Ink> {
    match digit {
        1 => Some(Ink::Red),
        2 => Some(Ink::Green),
        3 => Some(Ink::Yellow),
        4 => Some(Ink::Blue),
        5 => Some(Ink::Magenta),
        6 => Some(Ink::Cyan),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &str) -> String {
        let spans = AnsiReader::default().line(line);
        spans.iter().map(|span| span.text.as_str()).collect()
    }

    #[test]
    fn colours_are_read_and_the_rest_is_left_out() {
        let spans = AnsiReader::default().line("\x1b[1;31mred\x1b[0m plain\x1b[38;5;9mx");
        assert_eq!(
            spans[0],
            TextSpan::new("red", TextStyle::ink(Ink::Red).bold())
        );
        assert_eq!(spans[1], TextSpan::new(" plain", TextStyle::PLAIN));
        assert_eq!(spans[2], TextSpan::new("x", TextStyle::PLAIN));
        let cases = [
            ("a\x1b[2Jb\x1b[10;10Hc", "abc"),
            ("\x1b]0;title\x07x\x1b]8;;u\x1b\\y", "xy"),
            ("10 %\r50 %\r100 %\r", "100 %"),
            ("\x1b[", ""),
            ("\x1b", ""),
            ("\x1b(Bx", "x"),
            ("\x1bé", ""),
            ("bell\x07", "bell␇"),
        ];
        for (given, shown) in cases {
            assert_eq!(text(given), shown, "{given:?}");
        }
    }
}
