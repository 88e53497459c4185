//! Text of others on somebody's terminal: it must not move the cursor, ring, or set a title; and how
//! much room there is.

use std::os::fd::{AsFd, AsRawFd as _};

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Returns the text without the characters that a terminal acts on; its lines and tabs stay.
pub fn harmless(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '\n' {
            safe.push(letter);
        } else {
            push_harmless(&mut safe, letter);
        }
    }
    safe
}

/// Adds a letter. One that hides or turns others is written as its escape, so that what it was can
/// be read; what moves the cursor is a mark only, because programs colour their output with it.
fn push_harmless(safe: &mut String, letter: char) {
    if is_hidden(letter) {
        safe.extend(letter.escape_unicode());
    } else {
        safe.push(shown(letter));
    }
}

/// Returns what is shown in place of one character of a line.
pub fn shown(letter: char) -> char {
    if letter.is_control() && letter != '\t' || is_hidden(letter) {
        '\u{fffd}'
    } else {
        letter
    }
}

/// Returns the text with escapes in place of the characters that a terminal acts on; its lines and
/// tabs stay.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '\n' || letter == shown(letter) {
            safe.push(letter);
        } else {
            safe.extend(letter.escape_unicode());
        }
    }
    safe
}

/// Returns JSON that means the same, with escapes in place of what a terminal acts on.
pub fn harmless_json(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == shown(letter) {
            safe.push(letter);
        } else {
            // JSON names what is beyond the first plane by two surrogates.
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let escape = format!("\\u{unit:04x}");
                safe.push_str(&escape);
            }
        }
    }
    safe
}

/// Tells whether a character changes the order in which others are shown, or has no width at all, so
/// that a command reads otherwise than it runs. Joiners are none: scripts and pictures need them.
fn is_hidden(letter: char) -> bool {
    matches!(letter, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Returns a text as we made it for a terminal, in which nothing acts on it but our own styles,
/// whatever the parts held that others wrote.
pub fn styled(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(ESCAPE) {
        safe.push_str(&harmless(&rest[..at]));
        rest = &rest[at..];
        let style = CODES.iter().find(|code| rest.starts_with(**code));
        let length = style.map_or(ESCAPE.len_utf8(), |code| code.len());
        match style {
            Some(code) => safe.push_str(code),
            None => safe.push(shown(ESCAPE)),
        }
        rest = &rest[length..];
    }
    safe + &harmless(rest)
}

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowSize {
    pub columns: usize,
    pub rows: usize,
}

impl WindowSize {
    /// None for what is no terminal, or does not tell.
    pub fn of(terminal: &impl AsFd) -> Option<Self> {
        // SAFETY: all zeroes is a valid size.
        let mut size: libc::winsize = unsafe { std::mem::zeroed() };
        let file = terminal.as_fd().as_raw_fd();
        // SAFETY: the call fills the struct that it is given.
        let asked = unsafe { libc::ioctl(file, libc::TIOCGWINSZ, &raw mut size) };
        (asked == 0 && size.ws_col > 0).then(|| Self {
            columns: size.ws_col.into(),
            rows: size.ws_row.into(),
        })
    }
}

/// Returns a line that we made, cut with `…` where it would be wider than this. Our styles take no
/// room, and end with the line.
pub fn fitted(line: &str, columns: usize) -> String {
    let line = styled(line);
    if columns_of(&line) <= columns {
        return line;
    }
    let mut cut = String::with_capacity(line.len());
    let mut left = columns.saturating_sub(1);
    let mut rest = line.as_str();
    while let Some(letter) = rest.chars().next() {
        if let Some(code) = CODES.iter().find(|code| rest.starts_with(**code)) {
            cut.push_str(code);
            rest = &rest[code.len()..];
            continue;
        }
        let wide = letter.width().unwrap_or(0);
        if wide > left {
            break;
        }
        left -= wide;
        cut.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    cut.push('…');
    if cut.contains(ESCAPE) {
        cut.push_str(CODES[0]);
    }
    cut
}

/// Returns the width of a text in which only our styles act on a terminal.
fn columns_of(text: &str) -> usize {
    let bare = CODES
        .iter()
        .fold(text.to_owned(), |text, code| text.replace(code, ""));
    bare.width()
}

const ESCAPE: char = '\u{1b}';

/// What `TextStyle` writes. None of it hides or moves anything.
const CODES: [&str; 7] = [
    "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m",
];

#[cfg(test)]
mod tests {
    use super::{fitted, harmless, harmless_json, styled};
    use crate::style::TextStyle;

    #[test]
    fn our_styles_stay_and_what_others_wrote_into_them_does_not() {
        let style = TextStyle::Ansi;
        for wrap in [
            TextStyle::bold,
            TextStyle::dim,
            TextStyle::red,
            TextStyle::green,
            TextStyle::yellow,
            TextStyle::cyan,
        ] {
            let ours = wrap(style, "a\n");
            assert_eq!(styled(&ours), ours);
        }
        let hostile = style.bold("true # \u{1b}[1A\u{1b}[2K$ ls\u{1b}[8m\r");
        let shown = "\u{1b}[1mtrue # \u{fffd}[1A\u{fffd}[2K$ ls\u{fffd}[8m\u{fffd}\u{1b}[0m";
        assert_eq!(styled(&hostile), shown);
    }

    #[test]
    fn a_line_is_cut_where_it_would_not_fit_and_its_style_ends_there() {
        let line = format!("ab{}", TextStyle::Ansi.red("cdef"));
        assert_eq!(fitted(&line, 6), line);
        assert_eq!(fitted(&line, 5), "ab\u{1b}[31mcd…\u{1b}[0m");
        assert_eq!(fitted("日本語", 5), "日本…");
        assert_eq!(fitted("日本語", 4), "日…");
    }

    #[test]
    fn what_turns_the_order_of_letters_around_is_shown_as_such() {
        let turned = harmless("rm \u{202e}txt.sh\u{2066} \u{200f}a\u{61c}");
        assert_eq!(turned, r"rm \u{202e}txt.sh\u{2066} \u{200f}a\u{61c}");
        assert_eq!(harmless("a\u{200b}b\u{200d}c"), "a\\u{200b}b\u{200d}c");
        // Letters that no terminal shows, and that a model reads.
        assert_eq!(harmless("rm\u{e0041}"), "rm\\u{e0041}");
        let listed = harmless_json(&serde_json::json!("rm\u{e0041}").to_string());
        assert!(listed.is_ascii(), "{listed}");
        let read: String = serde_json::from_str(&listed).unwrap();
        assert_eq!(read, "rm\u{e0041}");
        assert_eq!(harmless("שלום"), "שלום");
    }

    #[test]
    fn json_for_a_terminal_means_the_same() {
        let text = "{\"a\":\"x\u{9b}2J\u{202e}y\u{7f}é\"}";
        let safe = harmless_json(text);
        assert_eq!(safe, r#"{"a":"x\u009b2J\u202ey\u007fé"}"#);
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&safe), value(text));
    }

    #[test]
    fn lines_stay_and_escape_sequences_do_not() {
        let shown = harmless("a\tb\n\u{1b}]0;title\u{7}c\r\u{9b}2J");
        assert_eq!(shown, "a\tb\n\u{fffd}]0;title\u{fffd}c\u{fffd}\u{fffd}2J");
    }
}
