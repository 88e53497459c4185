//! Text of others on somebody's terminal: it must not move the cursor, ring, or set a title.

/// Returns the text without the characters that a terminal acts on; its lines and tabs stay.
pub fn harmless(text: &str) -> String {
    let kept = |letter: char| {
        if letter == '\n' {
            letter
        } else {
            shown(letter)
        }
    };
    text.chars().map(kept).collect()
}

/// Returns what is shown in place of one character of a line.
pub fn shown(letter: char) -> char {
    if letter.is_control() && letter != '\t' {
        '\u{fffd}'
    } else {
        letter
    }
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn lines_stay_and_escape_sequences_do_not() {
        let shown = harmless("a\tb\n\u{1b}]0;title\u{7}c\r\u{9b}2J");
        assert_eq!(shown, "a\tb\n\u{fffd}]0;title\u{fffd}c\u{fffd}\u{fffd}2J");
    }
}
