//! Every bound of this family, unit last.

/// Shorter waits would only cost requests: a child that takes less time has ended before.
pub(super) const AWAIT_MIN_S: i64 = 300;
pub(super) const AWAIT_MAX_S: i64 = 1_800;
pub(super) const AWAIT_DEFAULT_S: i64 = 1_800;

pub(super) const LABEL_CHARS_MAX: usize = 80;

/// The beginning of a prompt that stands for all of it.
pub(super) const SUMMARY_CHARS_MAX: usize = 80;

/// The reason of a cancel, in one line.
pub(super) const REASON_CHARS_MAX: usize = 500;

/// Agents that one call prunes.
pub(super) const PRUNE_IDS_MAX: usize = 256;

pub(super) const LOGS_EVENTS_DEFAULT: usize = 5;
pub(super) const LOGS_EVENTS_MAX: usize = 200;
pub(super) const LOGS_BYTES_MAX: usize = 64 * 1024;

/// One text inside of an event. Logs are for looking; the whole is in the rollout.
pub(super) const LOGS_TEXT_CHARS_MAX: usize = 2_000;
