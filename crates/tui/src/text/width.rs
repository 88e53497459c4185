//! How many columns text takes.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// Returns the columns of a clean text.
pub fn text_width(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    text.graphemes(true).map(grapheme_width).sum()
}

/// Returns what people take for the letters of a clean text, each with its columns.
pub fn graphemes(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let ascii = text.is_ascii();
    let narrow = ascii.then(|| (0..text.len()).map(|at| (&text[at..=at], 1)));
    let others = (!ascii).then(|| text.graphemes(true).map(|g| (g, grapheme_width(g))));
    narrow
        .into_iter()
        .flatten()
        .chain(others.into_iter().flatten())
}

/// No letter takes more than two columns in any terminal.
fn grapheme_width(grapheme: &str) -> usize {
    grapheme.width().min(2)
}

/// Tells whether terminals disagree about the columns of a letter: whoever writes behind it
/// says in which column.
pub fn is_doubtful(grapheme: &str) -> bool {
    grapheme.chars().nth(1).is_some()
}

/// Returns the beginning of a clean text that fits, and its columns.
pub fn fitting(text: &str, columns: usize) -> (&str, usize) {
    let (mut end, mut used) = (0, 0);
    for (grapheme, width) in graphemes(text) {
        if used + width > columns {
            break;
        }
        end += grapheme.len();
        used += width;
    }
    (&text[..end], used)
}

/// Returns a clean text that fits, with `…` in the place of what does not.
pub fn shortened(text: &str, columns: usize) -> String {
    if text_width(text) <= columns {
        return text.to_owned();
    }
    let (kept, _) = fitting(text, columns.saturating_sub(1));
    if columns == 0 {
        return String::new();
    }
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::{shortened, text_width};

    #[test]
    fn letters_are_measured_as_people_see_them() {
        let cases = [
            ("abc", 3),
            ("日本", 4),
            ("e\u{301}", 1),
            ("👩\u{200d}💻", 2),
        ];
        for (text, width) in cases {
            assert_eq!(text_width(text), width, "{text}");
        }
        assert_eq!(shortened("日本語", 4), "日…");
        assert_eq!(shortened("abc", 0), "");
    }
}
