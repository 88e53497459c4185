//! Breaks lines into rows.

use super::clean::clean;
use super::row::{TextRow, TextSpan};
use super::style::TextStyle;
use super::width::{graphemes, text_width};

/// What stands before the first row of a line, and before the others.
#[derive(Debug, Clone, Default)]
pub struct Indent {
    pub first: Vec<TextSpan>,
    pub rest: Vec<TextSpan>,
}

impl Indent {
    /// A mark before the first row; the others begin below the text behind it.
    pub fn mark(mark: &str, style: TextStyle) -> Self {
        Self {
            first: vec![TextSpan::new(mark, style)],
            rest: vec![TextSpan::new(
                " ".repeat(text_width(mark)),
                TextStyle::PLAIN,
            )],
        }
    }

    /// Spaces before every row.
    pub fn spaces(columns: usize) -> Self {
        let spaces = vec![TextSpan::new(" ".repeat(columns), TextStyle::PLAIN)];
        Self {
            first: spaces.clone(),
            rest: spaces,
        }
    }
}

/// Where rows may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrapMode {
    /// Between words; a word that is longer than a row is broken.
    Words,
    /// Anywhere: code and output, of which no space is left out.
    Letters,
}

/// Returns a text of several lines in rows of one style.
pub fn wrap_text(text: &str, style: TextStyle, columns: usize) -> Vec<TextRow> {
    let mut rows = Vec::new();
    for line in text.lines() {
        let span = TextSpan::new(line, style);
        wrap_into(
            &mut rows,
            &[span],
            &Indent::default(),
            columns,
            WrapMode::Words,
        );
    }
    rows
}

/// Returns one line in rows.
pub fn wrap_lines(
    spans: &[TextSpan],
    indent: &Indent,
    columns: usize,
    mode: WrapMode,
) -> Vec<TextRow> {
    let mut rows = Vec::new();
    wrap_into(&mut rows, spans, indent, columns, mode);
    rows
}

/// Adds the rows of one line.
pub fn wrap_into(
    rows: &mut Vec<TextRow>,
    spans: &[TextSpan],
    indent: &Indent,
    columns: usize,
    mode: WrapMode,
) {
    let mut breaker = LineBreaker::new(indent, columns.max(1));
    for span in spans {
        debug_assert!(
            matches!(clean(&span.text), std::borrow::Cow::Borrowed(_)),
            "spans are clean"
        );
        for (grapheme, width) in graphemes(&span.text) {
            // Nothing is wider than the screen.
            let (grapheme, width) = if width > breaker.room_whole() {
                ("·", 1)
            } else {
                (grapheme, width)
            };
            match mode {
                WrapMode::Letters => breaker.place(grapheme, width, span.style),
                WrapMode::Words if grapheme == " " => breaker.space(span.style),
                WrapMode::Words => breaker.letter(grapheme, width, span.style),
            }
        }
    }
    breaker.finish(rows);
}

/// Fills rows. A word waits until it is known whether it fits.
struct LineBreaker<'a> {
    indent: &'a Indent,
    columns: usize,
    done: Vec<TextRow>,
    row: TextRow,
    used: usize,
    /// Columns of the row that the indent takes.
    margin: usize,
    gap: Vec<TextStyle>,
    word: Vec<(String, TextStyle)>,
    word_width: usize,
}

impl<'a> LineBreaker<'a> {
    fn new(indent: &'a Indent, columns: usize) -> Self {
        let mut breaker = Self {
            indent,
            columns,
            done: Vec::new(),
            row: TextRow::new(),
            used: 0,
            margin: 0,
            gap: Vec::new(),
            word: Vec::new(),
            word_width: 0,
        };
        breaker.begin(&indent.first);
        breaker
    }

    /// An indent that leaves no room is left out.
    fn begin(&mut self, indent: &[TextSpan]) {
        let width: usize = indent.iter().map(|span| text_width(&span.text)).sum();
        self.margin = if width + 1 < self.columns { width } else { 0 };
        if self.margin > 0 {
            for span in indent {
                self.row.push(&span.text, span.style);
            }
        }
        self.used = self.margin;
    }

    fn room_whole(&self) -> usize {
        self.columns - self.margin
    }

    fn break_row(&mut self) {
        self.done.push(std::mem::take(&mut self.row));
        self.begin(&self.indent.rest);
    }

    fn place(&mut self, grapheme: &str, width: usize, style: TextStyle) {
        if self.used + width > self.columns {
            self.break_row();
        }
        self.row.push(grapheme, style);
        self.used += width;
    }

    fn letter(&mut self, grapheme: &str, width: usize, style: TextStyle) {
        // A row may end before and behind a wide letter.
        if width == 2 {
            self.flush_word();
        }
        match self.word.last_mut() {
            Some((text, last)) if *last == style => text.push_str(grapheme),
            _ => self.word.push((grapheme.to_owned(), style)),
        }
        self.word_width += width;
        if width == 2 || self.word_width >= self.room_whole() {
            self.flush_word();
        }
    }

    fn space(&mut self, style: TextStyle) {
        self.flush_word();
        self.gap.push(style);
    }

    fn flush_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let fits = self.used + self.gap.len() + self.word_width <= self.columns;
        if fits || self.used == self.margin {
            for style in std::mem::take(&mut self.gap) {
                if self.used < self.columns {
                    self.row.push(" ", style);
                    self.used += 1;
                }
            }
        } else {
            self.gap.clear();
            self.break_row();
        }
        self.word_width = 0;
        for (text, style) in std::mem::take(&mut self.word) {
            for (grapheme, width) in graphemes(&text) {
                self.place(grapheme, width, style);
            }
        }
    }

    fn finish(mut self, rows: &mut Vec<TextRow>) {
        self.flush_word();
        rows.append(&mut self.done);
        rows.push(self.row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, columns: usize, mode: WrapMode, expected: &[&str]) {
        let spans = [TextSpan::new(text, TextStyle::PLAIN)];
        let rows = wrap_lines(&spans, &Indent::mark("• ", TextStyle::DIM), columns, mode);
        let texts: Vec<String> = rows.iter().map(TextRow::text).collect();
        assert_eq!(texts, expected);
        assert!(rows.iter().all(|row| row.width() <= columns.max(1)));
    }

    #[test]
    fn lines_break_between_words() {
        use WrapMode::{Letters, Words};
        check("one two three", 9, Words, &["• one two", "  three"]);
        check("abcdefghij", 6, Words, &["• abcd", "  efgh", "  ij"]);
        check("日本語x", 6, Words, &["• 日本", "  語x"]);
        check("a  b", 6, Letters, &["• a  b"]);
        check("", 6, Words, &["• "]);
        check("日本", 1, Words, &["·", "·"]);
        check("a b", 1, Words, &["a", "b"]);
    }
}
