//! Something that is drawn again and again: in place on a terminal, below each other
//! elsewhere.

use std::io::{self, IsTerminal};

use crate::commands::print;

#[derive(Debug)]
pub enum Screen {
    Lines,
    /// How many lines were drawn last.
    InPlace(usize),
}

impl Screen {
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

    /// Draws whole lines.
    pub fn show(&mut self, text: &str) -> io::Result<()> {
        match self {
            Self::Lines => print(text),
            Self::InPlace(lines) => {
                let back = match *lines {
                    0 => String::new(),
                    lines => format!("\x1b[{lines}A\r"),
                };
                *lines = text.lines().count();
                // A long line is cut by the terminal: wrapped, it would count as two.
                print(&format!("\x1b[?7l{back}\x1b[J{text}\x1b[?7h"))
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
