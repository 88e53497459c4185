//! Text that is put together.

use std::fmt::{Arguments, Write as _};

/// Adds to a text.
pub fn append(text: &mut String, more: Arguments<'_>) {
    text.write_fmt(more).expect("a String takes any text");
}
