//! Every bound of this crate, and what happens when it is met.

/// The body of a request. A longer one is refused with 413.
pub const REQUEST_BYTES_MAX: usize = 10 * 1024 * 1024;

/// Sessions in a page, if nobody says, and at most. More are refused by name.
pub const SESSIONS_PAGE_DEFAULT: usize = 50;
pub const SESSIONS_PAGE_MAX: usize = 200;

/// Messages in a page, if nobody says, and at most. More are refused by name.
pub const MESSAGES_PAGE_DEFAULT: u64 = 50;
pub const MESSAGES_PAGE_MAX: u64 = 200;

/// Sessions whose logs are remembered as they were read last. The one that was asked for longest ago
/// is read again from its beginning.
pub const SESSION_LOGS_MAX: usize = 256;

/// Trees in which a task is looked for that no session in memory has. In older ones it is not found
/// without the name of its session.
pub const TREES_SEARCHED_MAX: usize = 200;

/// Decisions of which it is remembered whose they were. Of older ones only the time is told.
pub const DECISIONS_REMEMBERED_MAX: usize = 4_096;

/// Decisions in one request. More are refused.
pub const DECISIONS_BATCH_MAX: usize = 200;

/// How long a wait lasts if nobody says, and at most. A longer one is refused by name.
pub const WAIT_MS_DEFAULT: u64 = 30_000;
pub const WAIT_MS_MAX: u64 = 10 * 60 * 1_000;

/// Characters of the name of a client, as decisions tell it; the rest is left out.
pub const CLIENT_NAME_CHARS_MAX: usize = 64;

/// How long a tree may take to say whether anything runs in it. Then the daemon is taken to be in use.
pub const IDLE_QUIET_MS_MAX: u64 = 1_000;

/// How often a client that follows events is sent a comment, so that both sides know that the other
/// is there.
pub const STREAM_KEEPALIVE_MS: u64 = 15_000;

/// How long the answer to a request with an `Idempotency-Key` is kept. After that the same key is a
/// new one.
pub const KEPT_ANSWER_AGE_MS_MAX: i64 = 24 * 60 * 60 * 1_000;

/// Answers that are kept. Over it the oldest is forgotten.
pub const KEPT_ANSWERS_MAX: usize = 10_000;

/// The longest `Idempotency-Key`. A longer one is refused.
pub const REQUEST_KEY_CHARS_MAX: usize = 255;
