//! Every bound of this crate, unit last.

/// The longest line that is read; it is what a line of ours may hold. A longer one is left out
/// and told.
pub const LINE_BYTES_MAX: usize = troupe_store::limits::LINE_BYTES_MAX;

/// Lines that are told one by one when they cannot be read; the others are counted.
pub const BROKEN_LINES_TOLD_MAX: usize = 20;

/// Records that are handed to the log in one write.
pub const RECORDS_PER_APPEND_MAX: usize = 256;

/// Lines of one write may differ by this much from the time that they are given.
pub const APPEND_SPAN_MS: i64 = 1_000;

/// Numbers that an event takes: its own and those of its older names.
pub const SEQ_STRIDE: u64 = 8;

/// What providers take as the name of a tool and as the id of a call.
pub const TOOL_NAME_CHARS_MAX: usize = 64;
pub const CALL_ID_CHARS_MAX: usize = 64;

/// A longer name of a conversation is cut.
pub const NAME_CHARS_MAX: usize = 120;

/// Files that a search of the default places looks at.
pub const FILES_LOOKED_AT_MAX: usize = 10_000;

/// How far into a file a listing reads for its directory and first words.
pub const HEAD_LINES_MAX: usize = 200;
pub const HEAD_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// How much of the first words a listing shows.
pub const PREVIEW_CHARS_MAX: usize = 72;

/// The longest list of names that is read beside the files.
pub const NAME_INDEX_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Characters of the user's messages that go with a summary which says nothing of them.
pub(crate) const KEPT_CHARS_MAX: usize = 80_000;
