//! A clock that a scenario turns, so that nobody has to wait for time to pass.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use troupe_engine::SessionClock;
use troupe_testkit::Actor;

use super::play::agent;

/// How far a scenario's clock is ahead of the machine's.
#[derive(Debug, Clone, Default)]
pub struct Hands(Arc<AtomicI64>);

impl Hands {
    /// Hands that are ahead already.
    pub fn ahead_by(seconds: i64) -> Self {
        Self(Arc::new(AtomicI64::new(seconds)))
    }

    pub fn clock(&self) -> SessionClock {
        let ahead = Arc::clone(&self.0);
        SessionClock::new(move || {
            let ahead_s = ahead.load(Ordering::Relaxed);
            Timestamp::now() + SignedDuration::from_secs(ahead_s)
        })
    }

    /// Turns the clock on, and has the tree look at it.
    pub async fn turn(&self, actor: &Actor, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
        agent(actor, "root").await;
    }
}
