//! The names that the tree gives or takes. Those that are kept are words of the protocol.

pub use troupe_protocol::tree::{Caller, MessageId, TimeMs};

/// Names one open wait of the running process. Waits end with it, so this is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitId(pub u64);
