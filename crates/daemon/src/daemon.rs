//! What all connections share.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use troupe_protocol::SessionId;
use troupe_protocol::tree::{Interruption, TaskEnding};
use troupe_server::SessionPool;
use troupe_store::{AgentRow, RecordedStatus, SessionStore};

use crate::decisions::DecisionDesk;
use crate::kept_answers::KeptAnswers;
use crate::limits::IDLE_QUIET_MS_MAX;
use crate::members::FoundSession;
use crate::problem::Problem;
use crate::served_roots::ServedRoots;
use crate::session_log::SessionLogs;

/// What the program that runs the daemon says of itself.
#[derive(Debug, Clone)]
pub struct DaemonInfo {
    pub version: String,
    /// Where it keeps what it must know after a crash.
    pub directory: PathBuf,
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
    roots: ServedRoots,
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
            answers: KeptAnswers::new(info.directory.join("answers.jsonl")),
            roots: ServedRoots::new(info.directory.join("roots")),
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

    /// Notes a root that the daemon works with.
    pub(crate) fn note_root(&self, root: SessionId) -> Result<(), Problem> {
        let noted = self.0.roots.note(root);
        noted.map_err(|error| Problem::internal(format!("a session cannot be noted: {error}")))
    }

    /// Returns the roots that the daemon before this one worked with. They are told once.
    pub fn served_before(&self) -> Result<BTreeSet<SessionId>, Problem> {
        let roots = self.0.roots.take();
        roots.map_err(|error| Problem::internal(error.to_string()))
    }

    /// Takes up those trees in which a task was cut off when their process ended. How they go on is said
    /// by the policy of their factory. Returns how many there are; one that cannot be taken up stays as
    /// it is.
    pub async fn take_up(&self, roots: BTreeSet<SessionId>) -> Result<usize, Problem> {
        let store = self.store()?;
        let mut taken = 0;
        for root in roots {
            let was_cut_off = |row: &AgentRow| match row.standing {
                RecordedStatus::Running => true,
                RecordedStatus::Ended(TaskEnding::Interrupted { why }) => {
                    matches!(why, Interruption::Crash | Interruption::Shutdown)
                }
                _ => false,
            };
            if !store.tree(root).await?.iter().any(was_cut_off) {
                continue;
            }
            match self.open(FoundSession::of_root(root)).await {
                Ok(_) => taken += 1,
                Err(problem) => {
                    tracing::warn!(%root, problem = problem.detail, "it is not taken up");
                }
            }
        }
        Ok(taken)
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
