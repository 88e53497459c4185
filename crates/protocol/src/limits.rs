//! Bounds of this crate, and what happens when they are met; unit last.

/// Characters of its prompt that a list shows of an agent; the rest is cut.
pub(crate) const SUMMARY_CHARS_MAX: usize = 80;

/// Members that nobody knows which a warning names; the rest is not named.
pub(crate) const UNKNOWN_MEMBERS_SHOWN_MAX: usize = 8;

/// Bytes of the name of a member that nobody knows; the rest is cut.
pub(crate) const UNKNOWN_MEMBER_BYTES_MAX: usize = 64;
