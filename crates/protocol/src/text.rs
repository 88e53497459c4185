//! Small things that every crate does to texts for people.

use std::error::Error;

/// Returns the beginning of a text in one line, with `…` if there is more.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let mut line = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        let space = (!line.is_empty()).then_some(' ');
        for character in space.into_iter().chain(word.chars()) {
            if chars == chars_max {
                return line.trim_end().to_owned() + "…";
            }
            line.push(character);
            chars += 1;
        }
    }
    line
}

/// Returns an error with its causes, in one line.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn a_line_is_the_beginning_of_the_text() {
        let check = |text: &str, expected: &str| assert_eq!(one_line(text, 8), expected);
        check("", "");
        check(" a\n\tb ", "a b");
        check("12345678", "12345678");
        check("123456789", "12345678…");
        check("1234567 9", "1234567…");
        check("ééééééééé", "éééééééé…");
    }
}
