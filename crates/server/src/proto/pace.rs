//! Keeps followers from taking the time of the session and its driver.
//!
//! Everything runs on one thread, and to write to a hundred followers what one model says can
//! cost more than to hear it. So followers write one after the other, and while a task runs, and
//! until its driver can have read the end of it, nobody does after a write for a while that is
//! so much longer than the write: together they take a small share of the time, however many
//! they are. One that waits for its turn falls behind, and is then told the same in fewer words:
//! many events in one write, and past the ring a text so far instead of its pieces.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

use crate::limits::{FOLLOWERS_SHARE_PERCENT, IDLE_LOOK_MS};

#[derive(Debug, Clone)]
pub(super) struct FollowerPace {
    /// One at a time, in the order in which they came.
    turns: Arc<Semaphore>,
    /// When the next one may begin.
    free_at: Arc<Mutex<Instant>>,
}

/// The time in which a follower may write. Dropping it ends it.
#[derive(Debug)]
pub(super) struct WriteSlot {
    _place: OwnedSemaphorePermit,
    begun: Instant,
    free_at: Arc<Mutex<Instant>>,
}

impl FollowerPace {
    pub(super) fn new() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(1)),
            free_at: Arc::new(Mutex::new(Instant::now())),
        }
    }

    /// Waits for a turn. When the session has rested, that is for those before alone.
    pub(super) async fn turn(&self, has_rested: impl Fn() -> bool) -> WriteSlot {
        let place = Arc::clone(&self.turns).acquire_owned().await;
        let place = place.expect("nothing closes the semaphore");
        loop {
            let free_at = *self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
            let wait = free_at.saturating_duration_since(Instant::now());
            if wait.is_zero() || has_rested() {
                break;
            }
            sleep(wait.min(Duration::from_millis(IDLE_LOOK_MS))).await;
        }
        WriteSlot {
            _place: place,
            begun: Instant::now(),
            free_at: Arc::clone(&self.free_at),
        }
    }
}

impl Drop for WriteSlot {
    fn drop(&mut self) {
        let spent = self.begun.elapsed();
        let pause = spent * (100 / FOLLOWERS_SHARE_PERCENT);
        *self.free_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + pause;
    }
}
