//! Every bound of this crate, unit last.

/// The longest line that is written, and the longest that is read. A longer one is reported
/// and skipped in pieces, so hostile files cannot make a reader allocate without end.
pub const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How much a reader fetches at once. A longer line doubles it until the line fits.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// What one answer of `read_all` holds at most, a single longer line excepted.
pub const BATCH_BYTES_MAX: usize = 1024 * 1024;

/// The append buffer is given back when one append made it larger than this.
pub const APPEND_BUFFER_BYTES_KEPT: usize = 16 * 1024;

/// Warnings beyond this are counted, not told one by one.
pub const WARNINGS_MAX: usize = 20;

/// How much of the first user message a list shows.
pub const PREVIEW_BYTES_MAX: usize = 400;

pub const LIST_ROWS_DEFAULT: usize = 25;
pub const LIST_ROWS_MAX: usize = 100;

/// What is shown around words that were found.
pub const SNIPPET_CHARS_BEFORE: usize = 48;
pub const SNIPPET_CHARS_AFTER: usize = 96;

/// Candidates named when a short id is ambiguous.
pub const CANDIDATES_MAX: usize = 10;

/// The shortest prefix of an id that is taken for one; shorter texts can only be names.
pub const ID_PREFIX_CHARS_MIN: usize = 4;

/// Commits that may wait for the committer. A full queue makes the next commit wait.
pub const COMMITS_QUEUED_MAX: usize = 256;

/// Files that are synced at the same time, each by a thread that ends with the group.
pub const COMMIT_THREADS_MAX: usize = 8;

/// Questions that may wait for the indexer; the next one waits for a place.
pub const INDEX_REQUESTS_QUEUED_MAX: usize = 64;

/// Logs whose rows are written in one transaction when many are behind.
pub const INDEX_BATCH_LOGS: usize = 128;

/// How long SQLite waits for another process's transaction.
pub const INDEX_BUSY_WAIT_MS: u32 = 5_000;

/// How often a moved log is looked for again before the open gives up.
pub const OPEN_ATTEMPTS_MAX: usize = 3;
