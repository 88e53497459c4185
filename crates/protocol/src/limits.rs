//! Bounds of this crate, and what happens when they are met; unit last.

/// Characters of its prompt that a list shows of an agent; the rest is cut.
pub(crate) const SUMMARY_CHARS_MAX: usize = 80;
