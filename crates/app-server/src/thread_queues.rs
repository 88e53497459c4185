//! Requests of one client about the same thread are worked on one after the other, in the order
//! in which they came. Other clients have queues of their own: one that does not read its answers
//! is in nobody's way.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex as StdMutex, PoisonError, Weak};

use tokio::sync::{Mutex, OwnedMutexGuard};

/// The queue of each thread that has one.
#[derive(Debug, Default)]
pub(super) struct ThreadQueues(StdMutex<HashMap<String, Weak<Mutex<()>>>>);

/// A place in a queue.
pub(super) enum QueuePlace {
    Now(OwnedMutexGuard<()>),
    Later(Pin<Box<dyn Future<Output = OwnedMutexGuard<()>> + Send>>),
}

impl ThreadQueues {
    /// Takes a place, behind all who took theirs before.
    pub(super) async fn queue(&self, thread: &str) -> QueuePlace {
        let lane = {
            let mut lanes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            lanes.retain(|_, lane| lane.strong_count() > 0);
            let lane = lanes.get(thread).and_then(Weak::upgrade);
            lane.unwrap_or_else(|| {
                let lane = Arc::new(Mutex::new(()));
                lanes.insert(thread.to_owned(), Arc::downgrade(&lane));
                lane
            })
        };
        let mut turn = Box::pin(lane.lock_owned());
        // The first look takes the place.
        match futures_util::poll!(turn.as_mut()) {
            std::task::Poll::Ready(guard) => QueuePlace::Now(guard),
            std::task::Poll::Pending => QueuePlace::Later(turn),
        }
    }
}

impl QueuePlace {
    /// Waits until all who came before are done. The guard ends the turn.
    pub(super) async fn wait_for_place(self) -> OwnedMutexGuard<()> {
        match self {
            Self::Now(guard) => guard,
            Self::Later(turn) => turn.await,
        }
    }
}
