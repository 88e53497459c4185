//! Every bound of this family, unit last.

/// A shorter wait would make a model pay a request for each look.
pub(super) const WAIT_MS_MIN: u64 = 10_000;
pub(super) const WAIT_MS_MAX: u64 = 1_800_000;
pub(super) const WAIT_MS_DEFAULT: u64 = 300_000;

/// Agents that one call waits for. More than any tree has by default.
pub(super) const WAIT_IDS_MAX: usize = 4096;
