//! Every bound of this crate, and what happens when it is met.

/// What waits to be sent. A full queue makes the caller wait.
pub const COMMANDS_QUEUED_MAX: usize = 64;

/// What waits to be read by the caller. A full queue makes the server wait, which then leaves
/// out what can be left out.
pub const TOLD_QUEUED_MAX: usize = 1_024;

/// Submissions on the way that the server has not accepted. The next one waits.
pub const UNACCEPTED_MAX: usize = 128;

/// How long a lost connection is tried to be made again, unless the caller says otherwise.
pub const GIVING_UP_MS: u64 = 60_000;

/// The first pause between two attempts; it doubles, up to the longest.
pub const PAUSE_MS_MIN: u64 = 5;
pub const PAUSE_MS_MAX: u64 = 2_000;

/// How long connecting and the answer to hello may take.
pub const CONNECT_MS_MAX: u64 = 10_000;

/// How often a quiet server is asked for a sign of life.
pub const KEEPALIVE_MS: u64 = 30_000;

/// Signs of life that may be missed. Then the connection counts as lost, and is made again.
pub const SIGNS_MISSED_MAX: u32 = 3;
