//! The bounds of the mock server, and what happens when they are met.

/// The size of one write.
pub const WRITE_BYTES: usize = 16 << 10;
/// The largest request that is read; a larger one is refused.
pub const REQUEST_BYTES_MAX: usize = 64 << 20;
/// The newest requests that are kept for tests to look at.
pub const RECORDED_MAX: usize = 1_024;
/// Their bodies in sum; older requests are dropped first.
pub const RECORDED_BYTES_MAX: usize = 64 << 20;
/// Conversations that one server keeps apart.
pub const CONVERSATIONS_MAX: usize = 100_000;
/// What an error message quotes of a request; more is cut.
pub const QUOTE_BYTES_MAX: usize = 1_000;
