//! Upper bounds of patches.

/// The text of one patch.
pub const PATCH_BYTES_MAX: usize = 8 << 20;
/// A file that is read to be edited, moved or shown as deleted.
pub const FILE_BYTES_MAX: u64 = 32 << 20;
/// File operations in one patch; each holds a directory open.
pub const OPERATIONS_MAX: usize = 256;
/// What is shown of a deleted file.
pub const SHOWN_BYTES_MAX: usize = 1 << 20;
/// Time for making one diff finer; it is correct, but coarser, after that.
pub const DIFF_MS_MAX: u64 = 500;
/// What an error quotes of one line.
pub const QUOTED_CHARS_MAX: usize = 160;
/// How many lines an error quotes.
pub const QUOTED_LINES_MAX: usize = 12;
/// Names tried for a staged file before the directory is given up.
pub const STAGE_ATTEMPTS_MAX: u32 = 64;
/// Times a resolution is repeated when directories move under it.
pub const RESOLVE_ATTEMPTS_MAX: u32 = 16;
