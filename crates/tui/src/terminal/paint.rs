//! Rows as bytes.
//!
//! Nothing here scrolls, clears the screen or sets a region: of all that a terminal can do, rows
//! need colours, columns and "erase to the end of this row".

use std::fmt::Write as _;

use crate::run::TerminalSurroundings;
use crate::settings::ThemeChoice;
use crate::text::width::is_doubtful;
use crate::text::{RowShade, TextRow, TextSpan, TextStyle, graphemes, text_width};

/// Begins and ends what is shown at once.
pub const BEGIN_UPDATE: &str = "\x1b[?2026h";
pub const END_UPDATE: &str = "\x1b[?2026l";
pub const HIDE_CURSOR: &str = "\x1b[?25l";
pub const SHOW_CURSOR: &str = "\x1b[?25h";
const ERASE_REST: &str = "\x1b[K";

/// Which colours there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaintPalette {
    pub has_colours: bool,
    pub is_dark: bool,
}

impl PaintPalette {
    pub fn new(theme: ThemeChoice, surroundings: &TerminalSurroundings) -> Self {
        // `15;0` is the colour of letters, then that of the background.
        let background = surroundings.colour_hint.rsplit(';').next();
        let is_light = matches!(background, Some("7" | "15"));
        Self {
            has_colours: !surroundings.no_color,
            is_dark: match theme {
                ThemeChoice::Dark => true,
                ThemeChoice::Light => false,
                ThemeChoice::Auto => !is_light,
            },
        }
    }

    /// Writes a row from the column where the cursor is, which is the row's first.
    pub fn write_row(self, out: &mut String, row: &TextRow) {
        out.push_str(ERASE_REST);
        self.write_spans(out, &row.spans, row.shade, 0);
    }

    /// Writes what differs from the row that stands there. The cursor is in that row.
    pub fn write_difference(self, out: &mut String, old: &TextRow, new: &TextRow) {
        if old.shade != new.shade {
            out.push('\r');
            self.write_row(out, new);
            return;
        }
        let same = old
            .spans
            .iter()
            .zip(&new.spans)
            .take_while(|(a, b)| a == b)
            .count();
        let mut column: usize = new.spans[..same].iter().map(|s| text_width(&s.text)).sum();
        let mut rest = new.spans[same..].to_vec();
        if let (Some(before), Some(after)) = (old.spans.get(same), rest.first_mut())
            && before.style == after.style
        {
            let kept = common_ascii(&before.text, &after.text);
            after.text.drain(..kept);
            column += kept;
        }
        write!(out, "\x1b[{}G{ERASE_REST}", column + 1).expect("a String takes any text");
        self.write_spans(out, &rest, new.shade, column);
    }

    fn write_spans(self, out: &mut String, spans: &[TextSpan], shade: RowShade, from: usize) {
        let mut column = from;
        let shade = match shade {
            RowShade::Block if self.has_colours => Some(if self.is_dark { 236 } else { 254 }),
            RowShade::Block | RowShade::None => None,
        };
        for span in spans {
            let is_marked = self.write_style(out, span.style, shade);
            write_text(out, &span.text, &mut column);
            if is_marked {
                out.push_str("\x1b[m");
            }
        }
    }

    /// Tells whether anything was written.
    fn write_style(self, out: &mut String, style: TextStyle, shade: Option<u8>) -> bool {
        let flags = [
            (style.bold, 1),
            (style.dim, 2),
            (style.italic, 3),
            (style.underline, 4),
            (style.reverse, 7),
            (style.strike, 9),
        ];
        let mut codes: Vec<String> = flags
            .into_iter()
            .filter(|(is_set, _)| *is_set)
            .map(|(_, code)| code.to_string())
            .collect();
        if let Some(ink) = style.ink.filter(|_| self.has_colours) {
            codes.push(ink.sgr().to_string());
        }
        codes.extend(shade.map(|shade| format!("48;5;{shade}")));
        if codes.is_empty() {
            return false;
        }
        write!(out, "\x1b[{}m", codes.join(";")).expect("a String takes any text");
        true
    }
}

/// Writes text; behind a letter whose width terminals disagree about it says where it goes on.
fn write_text(out: &mut String, text: &str, column: &mut usize) {
    if text.is_ascii() {
        out.push_str(text);
        *column += text.len();
        return;
    }
    for (grapheme, width) in graphemes(text) {
        out.push_str(grapheme);
        *column += width;
        if is_doubtful(grapheme) {
            write!(out, "\x1b[{}G", *column + 1).expect("a String takes any text");
        }
    }
}

/// Returns the length of the beginning that both have and that is one column a byte. A letter
/// before something that may join it is left to be written again.
fn common_ascii(a: &str, b: &str) -> usize {
    let pairs = a.bytes().zip(b.bytes());
    let same = pairs.take_while(|(a, b)| a == b && a.is_ascii()).count();
    let joins = |text: &str| {
        text.as_bytes()
            .get(same)
            .is_some_and(|byte| !byte.is_ascii())
    };
    if joins(a) || joins(b) {
        same.saturating_sub(1)
    } else {
        same
    }
}
