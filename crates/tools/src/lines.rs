//! Answers are built line by line.

use std::fmt::{Display, Write as _};

/// Appends one line.
pub(crate) fn push(text: &mut String, line: impl Display) {
    writeln!(text, "{line}").expect("writing to a string cannot fail");
}
