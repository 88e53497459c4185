//! Where the clients of a hub read events.

use troupe_engine::{EventSource, EventStream, EventTap};

#[derive(Debug)]
pub(super) enum SessionEvents {
    /// The session is there for its clients: events are kept for those who come later.
    Kept(EventSource),
    /// Somebody else runs it, and clients come seldom: they read the log.
    Logged(EventTap),
}

impl SessionEvents {
    pub(super) fn after(&self, seq: u64) -> EventStream {
        match self {
            Self::Kept(source) => source.after(seq),
            Self::Logged(tap) => tap.after(seq),
        }
    }

    pub(super) fn whole_session(&self) -> EventStream {
        match self {
            Self::Kept(source) => source.from_beginning(),
            Self::Logged(tap) => tap.from_beginning(),
        }
    }

    pub(super) fn last_seq(&self) -> u64 {
        match self {
            Self::Kept(source) => source.last_seq(),
            Self::Logged(tap) => tap.last_seq(),
        }
    }

    pub(super) async fn ended(&self) {
        match self {
            Self::Kept(source) => source.ended().await,
            Self::Logged(tap) => tap.ended().await,
        }
    }
}
