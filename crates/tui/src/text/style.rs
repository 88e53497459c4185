//! How text is marked: the terminal's own sixteen colours, and weight.

/// One of the colours that the user chose for the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
}

impl Ink {
    /// Returns the parameter of SGR that chooses it for letters.
    pub fn sgr(self) -> u8 {
        match self {
            Self::Red => 31,
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Blue => 34,
            Self::Magenta => 35,
            Self::Cyan => 36,
        }
    }
}

/// Colour and weight of a span. The background is always the terminal's own, but for reversed
/// text and shaded rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextStyle {
    pub ink: Option<Ink>,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    pub strike: bool,
    pub reverse: bool,
}

impl TextStyle {
    pub const PLAIN: Self = Self {
        ink: None,
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        strike: false,
        reverse: false,
    };
    pub const DIM: Self = Self {
        dim: true,
        ..Self::PLAIN
    };
    pub const BOLD: Self = Self {
        bold: true,
        ..Self::PLAIN
    };
    pub const REVERSE: Self = Self {
        reverse: true,
        ..Self::PLAIN
    };

    pub const fn ink(ink: Ink) -> Self {
        Self {
            ink: Some(ink),
            ..Self::PLAIN
        }
    }

    #[must_use]
    pub const fn bold(mut self) -> Self {
        self.bold = true;
        self
    }

    #[must_use]
    pub const fn dim(mut self) -> Self {
        self.dim = true;
        self
    }
}
