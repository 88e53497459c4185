//! Follows a tree that another process runs, by its logs: `--watch`, `--follow`, `wait`.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use troupe_tree::CurrentStatus;

use super::address::{AgentTarget, find};
use super::logged_tree::{self, LoggedTree, TreeLiveness};
use super::{CommandSite, draw};
use crate::commands::{print, tell};
use crate::control::client;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::limits::{ABSENT_LOOKS_MAX, FOLLOW_INTERVAL_MS};

/// Goes on as long as a process runs the tree.
#[derive(Debug)]
pub struct TreeFollower {
    interval: Interval,
    /// Looks in a row that found neither a process nor anything new. A process begins to
    /// listen a moment after its first line.
    absent: u32,
}

impl TreeFollower {
    pub fn every(time: Duration) -> Self {
        let mut interval = interval_at(Instant::now() + time, time);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            interval,
            absent: 0,
        }
    }

    /// Waits for the next look and reads what is new. Returns whether there will be more.
    pub async fn goes_on(
        &mut self,
        site: &CommandSite,
        tree: &mut LoggedTree,
    ) -> Result<bool, CommandFailure> {
        self.tick().await;
        self.look(site, tree).await
    }

    /// Waits for the next look. Safe to cancel.
    pub async fn tick(&mut self) {
        self.interval.tick().await;
    }

    /// Reads what is new. Returns whether there will be more.
    pub async fn look(
        &mut self,
        site: &CommandSite,
        tree: &mut LoggedTree,
    ) -> Result<bool, CommandFailure> {
        if tree.follow(&site.store).await? || client::is_there(site.home.path(), tree.root).await {
            self.absent = 0;
        } else {
            self.absent += 1;
        }
        Ok(self.absent < ABSENT_LOOKS_MAX)
    }
}

/// `troupe agents wait`.
pub async fn wait(site: &CommandSite, address: Option<&str>, seconds: Option<u64>) -> Outcome {
    let mut target = find(site, address).await?;
    let ended = until_final(site, &mut target);
    let ended = match seconds.map(Duration::from_secs) {
        Some(time) => tokio::time::timeout(time, ended).await,
        None => Ok(ended.await),
    };
    let Ok(status) = ended else {
        let path = &target.tree.agent(target.agent)?.path;
        tell(&format!("{path} has not ended; the time is up"));
        return Ok(CommandExit::TimedOut);
    };
    let status = status?;
    let agent = target.tree.agent(target.agent)?;
    let Some(status) = status else {
        tell(&format!(
            "no process runs this tree, so {} will not go on by itself; `troupe agents resume \
             {}:{}` goes on with it",
            agent.path,
            target.tree.root.short(),
            agent.id
        ));
        return Ok(CommandExit::Failed);
    };
    let row = target.tree.row(agent, TreeLiveness::Yes);
    let detail = row.detail.map(|detail| format!(" ({detail})"));
    print(&format!(
        "{} {}{}\n",
        row.path,
        draw::word(&row.status),
        detail.unwrap_or_default()
    ))?;
    Ok(match status {
        CurrentStatus::Completed => CommandExit::Success,
        _ => CommandExit::Failed,
    })
}

/// Returns the final status; `None` if no process is there to bring one about.
async fn until_final(
    site: &CommandSite,
    target: &mut AgentTarget,
) -> Result<Option<CurrentStatus>, CommandFailure> {
    let mut follower = TreeFollower::every(Duration::from_millis(FOLLOW_INTERVAL_MS));
    loop {
        let agent = target.tree.agent(target.agent)?;
        if target.tree.last_known_status(agent.id).is_some() {
            return Ok(Some(CurrentStatus::Lost));
        }
        let status = logged_tree::status(agent, TreeLiveness::Yes);
        // Work that waits for it, for a slot perhaps, is not done by the task before.
        if status.is_final() && agent.next_input().is_none() {
            return Ok(Some(status));
        }
        if !follower.goes_on(site, &mut target.tree).await? {
            return Ok(None);
        }
    }
}
