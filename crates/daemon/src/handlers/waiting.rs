//! Waiting for a session, as long as a request may last.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use troupe_agents::tree_access::{AgentScope, WaitTargets};
use troupe_server::RootSession;
use troupe_tree::effect::WaitEnd;

use crate::limits::{WAIT_MS_DEFAULT, WAIT_MS_MAX};
use crate::members::{FoundSession, root_view, user};
use crate::problem::Problem;
use crate::route::{NoMembers, RouteCall, RouteReply};
use crate::wire::session::{WaitGoal, WaitQuery, WaitView};

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitOutcome {
    Reached,
    TimeUp,
}

pub(crate) async fn wait(
    call: RouteCall<WaitQuery, NoMembers>,
) -> Result<RouteReply<WaitView>, Problem> {
    let RouteCall {
        daemon,
        path,
        query,
        ..
    } = call;
    let found = daemon.find(path.get("session")).await?;
    let time = query.timeout_ms.unwrap_or(WAIT_MS_DEFAULT);
    if time > WAIT_MS_MAX {
        let detail = format!("timeout_ms is at most {WAIT_MS_MAX}; wait again");
        return Err(Problem::bad_request("bad_timeout", detail).field("timeout_ms"));
    }
    let until = Instant::now() + Duration::from_millis(time);
    // A session that is not in memory does nothing, unless another process has it.
    let outcome = match daemon.loaded(found).await {
        Some(thread) => match query.until {
            WaitGoal::Idle => wait_until_idle(&thread, found, until).await?,
            WaitGoal::All => match timeout_at(until, wait_until_quiet(&thread)).await {
                Ok(quiet) => quiet.map(|()| WaitOutcome::Reached)?,
                Err(_) => WaitOutcome::TimeUp,
            },
        },
        None if daemon.is_held(found).await? => {
            let detail = "another process works with it, which does not tell us of its end";
            return Err(Problem::conflict("held_elsewhere", detail));
        }
        None => WaitOutcome::Reached,
    };
    Ok(RouteReply::new(WaitView {
        timed_out: outcome == WaitOutcome::TimeUp,
        session: daemon.describe(found).await?,
    }))
}

/// Waits until a session has nothing to do: a message that its task did not take starts the next
/// one.
async fn wait_until_idle(
    thread: &RootSession,
    found: FoundSession,
    until: Instant,
) -> Result<WaitOutcome, Problem> {
    let access = user(thread);
    // Dropping the wait is what ends it early.
    let stop = CancellationToken::new();
    let _stopped = stop.clone().drop_guard();
    loop {
        let targets = WaitTargets::Addresses(vec![found.address()]);
        let time = until.saturating_duration_since(Instant::now());
        let waited = access.wait(targets, time, &stop).await?;
        let view = access.view(&found.address()).await?;
        let is_done = view.status.is_final() && view.pending.messages == 0;
        match waited.end {
            WaitEnd::Final if is_done => return Ok(WaitOutcome::Reached),
            WaitEnd::Final if Instant::now() < until => {}
            WaitEnd::Final
            | WaitEnd::Mail
            | WaitEnd::Exhausted
            | WaitEnd::TimedOut
            | WaitEnd::Stopped => return Ok(WaitOutcome::TimeUp),
        }
    }
}

/// Waits until nobody in a tree has anything to do.
async fn wait_until_quiet(thread: &RootSession) -> Result<(), Problem> {
    loop {
        thread.agents().wait_until_idle().await;
        // A callback may have begun the next task of the root meanwhile.
        if is_quiet(thread).await? {
            return Ok(());
        }
    }
}

/// Tells whether nobody in a tree has anything to do.
pub(crate) async fn is_quiet(thread: &RootSession) -> Result<bool, Problem> {
    let root = root_view(thread).await?;
    let others = user(thread).list(AgentScope::All, false).await?;
    let mut all = std::iter::once(&root).chain(&others);
    Ok(all.all(|view| view.status.is_final() && view.pending.messages == 0))
}
