//! A way to the events of a session that hardly anybody watches.

use std::sync::Arc;

use super::{EventStream, SharedRing};

/// Where readers can be had at any time, at no cost while there are none: unlike for an
/// [`EventSource`](super::EventSource) nothing is kept in memory for those who come later. They
/// read the log up to where the session is, and get open texts as snapshots. So it is only of
/// use once the session has a log.
///
/// It does not keep the session running, and outlives it.
#[derive(Debug)]
pub struct EventTap {
    shared: Arc<SharedRing>,
}

impl EventTap {
    pub(super) fn new(shared: Arc<SharedRing>) -> Self {
        shared.lock().add_tap();
        Self { shared }
    }

    /// Returns a reader that goes on after `seq`, as [`EventSource::after`] does.
    ///
    /// [`EventSource::after`]: super::EventSource::after
    pub fn after(&self, seq: u64) -> EventStream {
        EventStream::joined(Arc::clone(&self.shared), seq)
    }

    /// Returns the number of the newest event.
    pub fn last_seq(&self) -> u64 {
        self.shared.lock().last()
    }

    /// Tells whether the session has no task.
    pub fn is_idle(&self) -> bool {
        self.shared.lock().is_idle()
    }

    /// Tells whether the session has ended.
    pub fn is_closed(&self) -> bool {
        self.shared.lock().is_closed()
    }

    /// Returns when the session has ended.
    pub async fn ended(&self) {
        self.shared.ended().await;
    }
}

impl Clone for EventTap {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.shared))
    }
}

impl Drop for EventTap {
    fn drop(&mut self) {
        self.shared.lock().remove_tap();
    }
}
