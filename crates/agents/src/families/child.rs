//! A child in the hands of the one who made it.

use std::time::Instant;

use tokio_util::sync::CancellationToken;
use troupe_protocol::event::AbortReason;
use troupe_protocol::tree::{Caller, OnParentInterrupt};
use troupe_tree::TreeRefusal;
use troupe_tree::status::CurrentStatus;

use crate::limits::CANCEL_WAIT;
use crate::tree_access::{AgentView, TreeAccess, TreeError, WaitTargets};

/// Finds an agent below the caller. Lists show more than that, but only what is below may
/// be stopped, and waiting for anybody else is how agents come to wait for each other.
pub(super) async fn find_below_caller(
    desk: &TreeAccess,
    address: &str,
    verb: &'static str,
) -> Result<AgentView, TreeError> {
    let view = desk.view(address).await?;
    let Caller::Agent(caller) = desk.caller() else {
        return Ok(view);
    };
    let mut above = view.parent;
    while let Some(parent) = above {
        if parent == caller {
            return Ok(view);
        }
        above = desk.view(&parent.to_string()).await?.parent;
    }
    Err(TreeRefusal::OutsideSubtree { verb }.into())
}

/// What becomes of a child whose parent stops waiting for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChildDisposition {
    GoesOn,
    /// It was made to end with the interrupted task of its parent.
    Cancelled,
    /// The engine is being shut down.
    Suspended,
}

/// Returns what becomes of an agent below the caller whose task ends for this reason.
pub(super) async fn fate(
    desk: &TreeAccess,
    child: &AgentView,
    why: Option<AbortReason>,
) -> Result<ChildDisposition, TreeError> {
    match why {
        Some(AbortReason::Shutdown) => return Ok(ChildDisposition::Suspended),
        Some(AbortReason::Interrupted) => {}
        // An end of another kind, or of the call alone, touches no child.
        Some(_) | None => return Ok(ChildDisposition::GoesOn),
    }
    // Who is cancelled takes everybody below along.
    let mut view = child.clone();
    loop {
        if view.on_parent_interrupt == OnParentInterrupt::Cancel
            && view.parent == Some(desk.caller().log_owner())
        {
            return Ok(ChildDisposition::Cancelled);
        }
        match view.parent {
            Some(parent) if parent != desk.caller().log_owner() => {
                view = desk.view(&parent.to_string()).await?;
            }
            Some(_) | None => return Ok(ChildDisposition::GoesOn),
        }
    }
}

/// What came of a cancel.
#[derive(Debug)]
pub(super) enum CancelOutcome {
    /// It had nothing to do, or ended by itself first.
    WasDone(AgentView),
    Now(AgentView),
    /// The order is given and its processes are being killed.
    Soon(AgentView),
}

impl CancelOutcome {
    pub(super) fn view(&self) -> &AgentView {
        match self {
            Self::WasDone(view) | Self::Now(view) | Self::Soon(view) => view,
        }
    }
}

/// Cancels an agent and all below it, and stays until every task that it touched has ended:
/// only then is it known whether the cancel or the end came first.
pub(super) async fn cancel(
    desk: &TreeAccess,
    child: AgentView,
    note: Option<String>,
    stop: &CancellationToken,
) -> Result<CancelOutcome, TreeError> {
    let address = child.session.to_string();
    let stopped = desk.cancel(&address, note).await?;
    if stopped.touched.is_empty() {
        return Ok(CancelOutcome::WasDone(child));
    }
    // Waited for as a bystander: a wait of the caller's own would give up its slot, and claim
    // a result that this answer does not carry.
    let bystander = desk.agents().user();
    let until = Instant::now() + CANCEL_WAIT;
    let mut statuses = Vec::with_capacity(stopped.touched.len());
    for planned in &stopped.touched {
        let touched = planned.view.session.to_string();
        let left = until.saturating_duration_since(Instant::now());
        let on = WaitTargets::Addresses(vec![touched.clone()]);
        bystander.wait(on, left, stop).await?;
        statuses.push(bystander.view(&touched).await?.status);
    }
    let view = desk.view(&address).await?;
    Ok(if statuses.iter().any(|status| !status.is_final()) {
        CancelOutcome::Soon(view)
    } else if statuses.contains(&CurrentStatus::Cancelled) {
        CancelOutcome::Now(view)
    } else {
        CancelOutcome::WasDone(view)
    })
}
