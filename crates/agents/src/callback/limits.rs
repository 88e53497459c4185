//! The bounds of callbacks.

/// A longer template is not used.
pub(super) const TEMPLATE_BYTES_MAX: usize = 16 * 1024;

/// Opening brackets in a template, each of which may open a level that its reader recurses
/// into. A stack of 2 MiB ends between 256 and 512 levels.
pub(super) const OPENERS_MAX: usize = 160;

/// What a template renders. Beyond it the default text is sent.
pub(super) const RENDERED_BYTES_MAX: usize = 64 * 1024;

/// The child's last message in a callback. The rest is in its result, and the cut says so.
pub(super) const LAST_MESSAGE_BYTES_MAX: usize = 32 * 1024;

/// The original prompt in a callback; with the ellipsis of a cut, 120.
pub(crate) const PROMPT_CHARS_MAX: usize = 119;

/// The reason of an end, in one line.
pub(super) const REASON_CHARS_MAX: usize = 500;
