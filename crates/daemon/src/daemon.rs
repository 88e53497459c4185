//! What all connections share.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use troupe_server::SessionPool;
use troupe_store::SessionStore;

use crate::decisions::DecisionDesk;
use crate::kept_answers::KeptAnswers;
use crate::limits::IDLE_QUIET_MS_MAX;
use crate::problem::Problem;
use crate::session_log::SessionLogs;

/// What the program that runs the daemon says of itself.
#[derive(Debug, Clone)]
pub struct DaemonInfo {
    pub version: String,
    /// Where answers are kept that a client may ask for again.
    pub answers: PathBuf,
}

/// The sessions of a home, for any number of clients. Cheap to clone.
#[derive(Clone)]
pub struct Daemon(Arc<DaemonState>);

struct DaemonState {
    pool: SessionPool,
    info: DaemonInfo,
    logs: SessionLogs,
    decisions: DecisionDesk,
    answers: KeptAnswers,
    /// Whoever follows events holds a clone.
    watchers: Arc<()>,
    began: Instant,
    /// When a client was last there, in milliseconds after the beginning.
    last_seen_ms: AtomicU64,
}

/// A client that follows events.
#[derive(Debug)]
pub(crate) struct WatcherPlace {
    _place: Arc<()>,
}

impl fmt::Debug for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Daemon")
    }
}

impl Daemon {
    pub fn new(pool: SessionPool, info: DaemonInfo) -> Self {
        Self(Arc::new(DaemonState {
            pool,
            answers: KeptAnswers::new(info.answers.clone()),
            watchers: Arc::default(),
            info,
            logs: SessionLogs::default(),
            decisions: DecisionDesk::default(),
            began: Instant::now(),
            last_seen_ms: AtomicU64::new(0),
        }))
    }

    pub(crate) fn pool(&self) -> &SessionPool {
        &self.0.pool
    }

    pub(crate) fn info(&self) -> &DaemonInfo {
        &self.0.info
    }

    pub(crate) fn logs(&self) -> &SessionLogs {
        &self.0.logs
    }

    pub(crate) fn decisions(&self) -> &DecisionDesk {
        &self.0.decisions
    }

    pub(crate) fn answers(&self) -> &KeptAnswers {
        &self.0.answers
    }

    /// Returns the place of a client that follows events, which keeps the daemon as long as it is
    /// held.
    pub(crate) fn watcher(&self) -> WatcherPlace {
        WatcherPlace {
            _place: Arc::clone(&self.0.watchers),
        }
    }

    pub(crate) fn store(&self) -> Result<Arc<dyn SessionStore>, Problem> {
        self.0.pool.store().map_err(Problem::internal)
    }

    /// Notes that a client is there.
    pub(crate) fn seen(&self) {
        let now = u64::try_from(self.0.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.last_seen_ms.fetch_max(now, Ordering::Relaxed);
    }

    /// Returns when nobody has asked for anything for so long, and nothing runs.
    pub async fn idle_for(&self, time: Duration) {
        loop {
            let seen = Duration::from_millis(self.0.last_seen_ms.load(Ordering::Relaxed));
            let due = self.0.began + seen + time;
            if due > Instant::now() {
                tokio::time::sleep_until(due).await;
            } else if self.is_quiet().await {
                return;
            } else {
                // What runs is as good as a client.
                self.seen();
            }
        }
    }

    async fn is_quiet(&self) -> bool {
        if Arc::strong_count(&self.0.watchers) > 1 {
            return false;
        }
        for thread in self.0.pool.loaded().await {
            let quiet = thread.agents().wait_until_idle();
            let time = Duration::from_millis(IDLE_QUIET_MS_MAX);
            if !thread.is_idle() || timeout(time, quiet).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Ends every session in an orderly way.
    pub async fn end(&self) {
        self.0.pool.end().await;
    }
}
