//! Lists agents that were stopped by the user and can be resumed.

use troupe_agents::TreeHandle;
use troupe_agents::tree_access::{AgentScope, AgentView};
use troupe_tree::CurrentStatus;

use crate::commands::agents::draw;

/// What is said when nobody goes on by itself.
pub async fn stopped_agents_notice(agents: Option<TreeHandle>) -> String {
    let stopped = match agents.filter(TreeHandle::is_planted) {
        Some(agents) => stopped(&agents).await,
        None => Vec::new(),
    };
    if stopped.is_empty() {
        return "Nothing to continue: the last task is finished. Give a prompt: troupe exec resume \
                --last \"…\""
            .to_owned();
    }
    format!(
        "No agent was cut off. Stopped before: {}. To restart one: `troupe agents resume NAME`",
        stopped.join(", ")
    )
}

async fn stopped(agents: &TreeHandle) -> Vec<String> {
    let desk = agents.user();
    // A tree that has ended by itself has nobody to name.
    let root = desk.view("root").await.ok();
    let others = desk.list(AgentScope::All, false).await.unwrap_or_default();
    let everybody = root.into_iter().chain(others);
    everybody
        .filter(was_stopped)
        .map(|view| named(&view))
        .collect()
}

fn was_stopped(view: &AgentView) -> bool {
    match view.status {
        CurrentStatus::Interrupted { .. } | CurrentStatus::Cancelled => true,
        CurrentStatus::PendingInit
        | CurrentStatus::Ready
        | CurrentStatus::Queued { .. }
        | CurrentStatus::Running
        | CurrentStatus::Waiting { .. }
        | CurrentStatus::Completed
        | CurrentStatus::Errored
        | CurrentStatus::BudgetExceeded
        | CurrentStatus::Shutdown
        | CurrentStatus::Lost
        | CurrentStatus::NotFound => false,
    }
}

fn named(view: &AgentView) -> String {
    format!("{} ({})", view.path, draw::word(&view.wire_status()))
}
