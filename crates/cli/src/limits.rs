//! Upper bounds of this crate.

/// The most that is read of a prompt from standard input.
pub const PROMPT_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// A JSON Schema file larger than this is refused.
pub const OUTPUT_SCHEMA_BYTES_MAX: u64 = 1024 * 1024;

/// Lines of a command's output that people are shown; the model sees more.
pub const SHOWN_OUTPUT_LINES_MAX: usize = 12;

/// Lines of a patch that people are shown.
pub const SHOWN_DIFF_LINES_MAX: usize = 40;

/// Characters of one shown line.
pub const SHOWN_LINE_CHARS_MAX: usize = 200;

/// How long `doctor` waits for a server.
pub const DOCTOR_CONNECT_MS_MAX: u64 = 3000;

/// What is written to a stream that says it has room. A pipe has room for so much when it says so.
pub const WRITE_AT_ONCE_BYTES_MAX: usize = libc::PIPE_BUF;

/// Directories whose configuration is kept in memory. Beyond that they are read again.
pub const DIRECTORIES_KNOWN_MAX: usize = 256;
