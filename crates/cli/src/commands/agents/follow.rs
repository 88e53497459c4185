//! Follows a tree that another process runs, by its logs: `--watch`, `--follow`, `wait`.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use troupe_agents::tree::Status;

use super::address::{Target, find};
use super::chronicle::{self, Chronicle, Served};
use super::{Site, draw};
use crate::commands::{print, tell};
use crate::control::client;
use crate::failure::{Exit, Failure, Outcome};
use crate::limits::{ABSENT_LOOKS_MAX, FOLLOW_INTERVAL_MS};

/// Goes on as long as a process runs the tree.
#[derive(Debug)]
pub struct Follower {
    interval: Interval,
    /// Looks in a row that found neither a process nor anything new. A process begins to
    /// listen a moment after its first line.
    absent: u32,
}

impl Follower {
    pub fn every(time: Duration) -> Self {
        let mut interval = interval_at(Instant::now() + time, time);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            interval,
            absent: 0,
        }
    }

    /// Waits for the next look and reads what is new. Returns whether there will be more.
    pub async fn goes_on(&mut self, site: &Site, tree: &mut Chronicle) -> Result<bool, Failure> {
        self.tick().await;
        self.look(site, tree).await
    }

    /// Waits for the next look. Safe to cancel.
    pub async fn tick(&mut self) {
        self.interval.tick().await;
    }

    /// Reads what is new. Returns whether there will be more.
    pub async fn look(&mut self, site: &Site, tree: &mut Chronicle) -> Result<bool, Failure> {
        if tree.follow(&site.store).await? || client::is_there(site.home.path(), tree.root).await {
            self.absent = 0;
        } else {
            self.absent += 1;
        }
        Ok(self.absent < ABSENT_LOOKS_MAX)
    }
}

/// `troupe agents wait`.
pub async fn wait(site: &Site, address: Option<&str>, seconds: Option<u64>) -> Outcome {
    let mut target = find(site, address).await?;
    let ended = until_final(site, &mut target);
    let ended = match seconds.map(Duration::from_secs) {
        Some(time) => tokio::time::timeout(time, ended).await,
        None => Ok(ended.await),
    };
    let Ok(status) = ended else {
        let path = &target.tree.agent(target.agent)?.path;
        tell(&format!("{path} has not ended; the time is up"));
        return Ok(Exit::TimedOut);
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
        return Ok(Exit::Failed);
    };
    let row = target.tree.row(agent, Served::Yes);
    let detail = row.detail.map(|detail| format!(" ({detail})"));
    print(&format!(
        "{} {}{}\n",
        row.path,
        draw::word(&row.status),
        detail.unwrap_or_default()
    ))?;
    Ok(match status {
        Status::Completed => Exit::Success,
        _ => Exit::Failed,
    })
}

/// Returns the final status; `None` if no process is there to bring one about.
async fn until_final(site: &Site, target: &mut Target) -> Result<Option<Status>, Failure> {
    let mut follower = Follower::every(Duration::from_millis(FOLLOW_INTERVAL_MS));
    loop {
        let agent = target.tree.agent(target.agent)?;
        if target.tree.lost(agent.id).is_some() {
            return Ok(Some(Status::Lost));
        }
        let status = chronicle::status(agent, Served::Yes);
        // Work that waits for it, for a slot perhaps, is not done by the task before.
        if status.is_final() && agent.next_input().is_none() {
            return Ok(Some(status));
        }
        if !follower.goes_on(site, &mut target.tree).await? {
            return Ok(None);
        }
    }
}
