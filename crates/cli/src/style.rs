//! Colour, where somebody looks.

use std::env;
use std::io::IsTerminal;

/// When to colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorChoice {
    Always,
    Never,
    /// Only on a terminal, not if `NO_COLOR` is set, and not on a dumb one.
    #[default]
    Auto,
}

/// Wraps text in escape sequences, or does not.
#[derive(Debug, Clone, Copy)]
pub enum TextStyle {
    Plain,
    Ansi,
}

impl TextStyle {
    /// Chooses for a stream.
    pub fn choose(choice: ColorChoice, stream: &impl IsTerminal) -> Self {
        let ansi = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                let unwanted = env::var_os("NO_COLOR").is_some_and(|no| !no.is_empty());
                let unable = env::var_os("TERM").is_some_and(|term| term == "dumb");
                stream.is_terminal() && !unwanted && !unable
            }
        };
        if ansi { Self::Ansi } else { Self::Plain }
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    pub fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub fn cyan(self, text: &str) -> String {
        self.wrap("36", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Ansi => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}
