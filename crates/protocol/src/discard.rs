//! Results that nobody waits for: how they are discarded without being lost to the diagnostic log.

/// Discards a result and tells the diagnostic log if it was an error, at `debug`.
///
/// The first form says only what was tried: a channel gives back what it could not deliver, which
/// may be the text of a conversation. The second form writes the error too. The crate that calls
/// it needs `tracing`; while the log is off the cost is one load, and nothing is formatted.
#[macro_export]
macro_rules! discard {
    ($result:expr, $what:literal) => {
        if ::core::result::Result::is_err(&$result) {
            ::tracing::debug!($what);
        }
    };
    ($result:expr, error, $what:literal) => {
        if let ::core::result::Result::Err(error) = $result {
            ::tracing::debug!(%error, $what);
        }
    };
}
