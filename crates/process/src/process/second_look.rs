//! Looks for repositories that a command has brought where none was: once after it, and now and
//! then while it runs. What is found is moved aside before anybody hears that the command has
//! ended.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until};

use crate::limits::{SECOND_LOOK_INTERVAL_MS, SECOND_LOOK_SHARE};
use crate::nested::NestedPaths;

#[derive(Debug)]
pub(super) struct SecondLook {
    searched: Arc<NestedPaths>,
    /// When to look next while the command runs.
    due: Instant,
    running: Option<RunningLook>,
    moved: Vec<String>,
}

#[derive(Debug)]
struct RunningLook {
    began: Instant,
    kind: LookKind,
    task: JoinHandle<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LookKind {
    Meanwhile,
    /// It began when everything of the command was gone.
    Last,
}

impl SecondLook {
    /// `None` if there is nothing to look at.
    pub fn new(searched: Arc<NestedPaths>) -> Option<Self> {
        searched.has_plain_directories().then(|| Self {
            searched,
            due: Instant::now() + Duration::from_millis(SECOND_LOOK_INTERVAL_MS),
            running: None,
            moved: Vec::new(),
        })
    }

    /// Waits until it is time, and looks. May be dropped at any time and called again.
    pub async fn again(&mut self) {
        if self.running.is_none() {
            sleep_until(self.due).await;
            self.begin(LookKind::Meanwhile);
        }
        self.finish().await;
    }

    /// Looks for the last time and returns what was moved aside, earlier too. May be dropped at
    /// any time and called again.
    pub async fn last(&mut self) -> Vec<String> {
        loop {
            if self.running.is_none() {
                self.begin(LookKind::Last);
            }
            if self.finish().await == Some(LookKind::Last) {
                return std::mem::take(&mut self.moved);
            }
        }
    }

    /// Returns what was moved aside so far.
    pub fn take_moved(&mut self) -> Vec<String> {
        std::mem::take(&mut self.moved)
    }

    fn begin(&mut self, kind: LookKind) {
        let searched = Arc::clone(&self.searched);
        self.running = Some(RunningLook {
            began: Instant::now(),
            kind,
            task: spawn_blocking(move || searched.put_planted_aside()),
        });
    }

    async fn finish(&mut self) -> Option<LookKind> {
        let running = self.running.as_mut()?;
        // It fails only while the engine shuts down.
        let moved = (&mut running.task).await.unwrap_or_default();
        self.moved.extend(moved);
        // Large work trees are looked at less often, so that it costs next to nothing.
        let pause = running.began.elapsed() * SECOND_LOOK_SHARE;
        self.due = Instant::now() + pause.max(Duration::from_millis(SECOND_LOOK_INTERVAL_MS));
        self.running.take().map(|running| running.kind)
    }
}
