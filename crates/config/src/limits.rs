//! Upper bounds of this crate.

/// A configuration file larger than this is refused: it is not one that a person wrote.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A name further away than this many edits is not offered as a correction.
pub const SUGGESTION_EDITS_MAX: usize = 3;

/// Error messages quote at most this much of a value or a line.
pub const QUOTE_CHARS_MAX: usize = 120;
