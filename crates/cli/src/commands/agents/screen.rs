//! Something that is drawn again and again: in place on a terminal, below each other
//! elsewhere.

use std::io::{self, IsTerminal};

use crate::commands::{print, print_raw};
use crate::terminal::styled;

#[derive(Debug)]
pub enum RedrawnScreen {
    Lines,
    /// How many lines were drawn last.
    InPlace(usize),
}

impl RedrawnScreen {
    pub fn of_stdout() -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if io::stdout().is_terminal() && !dumb {
            Self::InPlace(0)
        } else {
            Self::Lines
        }
    }

    pub fn is_redrawn(&self) -> bool {
        matches!(self, Self::InPlace(_))
    }

    /// Draws whole lines, in place of the last ones.
    pub fn show(&mut self, text: &str) -> io::Result<()> {
        self.show_below("", text)
    }

    /// The same, after `line`, which stays.
    pub fn show_below(&mut self, line: &str, text: &str) -> io::Result<()> {
        match self {
            Self::Lines => print(&format!("{line}{text}")),
            Self::InPlace(lines) => {
                let back = match *lines {
                    0 => String::new(),
                    lines => format!("\x1b[{lines}A\r"),
                };
                *lines = text.lines().count();
                // A long line of the drawing is cut by the terminal: wrapped, it would count
                // as two.
                let (line, text) = (styled(line), styled(text));
                print_raw(&format!("{back}\x1b[J{line}\x1b[?7l{text}\x1b[?7h"))
            }
        }
    }

    /// Leaves what is drawn where it is; the next drawing comes below.
    pub fn keep(&mut self) {
        if let Self::InPlace(lines) = self {
            *lines = 0;
        }
    }
}
