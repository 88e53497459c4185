//! An agent of a running tree as its [`AgentCard`].

use troupe_engine::ActivityKind;
use troupe_protocol::agent::{AgentCard, AgentMaking, AgentOrigin, TokenSums, WaitingOn};
use troupe_tree::CurrentStatus;

use super::view::AgentView;

impl AgentView {
    /// Returns the agent as lists show it. Whether its result was read is not the tree's to know.
    pub fn card(&self) -> AgentCard {
        AgentCard {
            agent_id: self.agent,
            session_id: self.session,
            parent_agent_id: self.parent,
            parent_session_id: self.parent_session,
            path: self.path.clone(),
            depth: self.depth,
            made: self
                .spec
                .as_ref()
                .map(|spec| AgentMaking::new(spec, self.origin.unwrap_or(AgentOrigin::Spawn))),
            title: self.name.clone(),
            note: self.note.clone(),
            status: self.wire_status(),
            detail: status_detail(self.status, self.doing()),
            waiting_on: self.waiting_on(),
            interruption: self.status.interruption(),
            current_tools: self.current_tools().to_vec(),
            reasoning_header: self.reasoning_header.clone(),
            preview: self.preview.clone(),
            since_ms: self.since_ms,
            born_ms: self.born_at_ms,
            progress_ms: self.updated_at_ms(),
            ran_ms: self.ran_ms,
            tokens: TokenSums {
                own: self.usage.total_tokens,
                subtree: self.subtree_usage.total_tokens,
            },
            pending: self.pending,
            last_task: self.last_task.clone(),
            read: false,
            pruned: self.pruned,
        }
    }

    /// Returns what it waits on: what the tree knows, else what its session does.
    pub fn waiting_on(&self) -> Option<WaitingOn> {
        match self.status {
            CurrentStatus::Waiting { on } => Some(on),
            CurrentStatus::Queued { .. } => Some(WaitingOn::Slot),
            CurrentStatus::Running => match self.doing() {
                Some(ActivityKind::Model | ActivityKind::Compacting) => Some(WaitingOn::Model),
                Some(ActivityKind::Tools(_)) => Some(WaitingOn::Tool),
                Some(ActivityKind::Idle) | None => None,
            },
            CurrentStatus::PendingInit
            | CurrentStatus::Ready
            | CurrentStatus::Completed
            | CurrentStatus::Errored
            | CurrentStatus::Interrupted { .. }
            | CurrentStatus::Cancelled
            | CurrentStatus::BudgetExceeded
            | CurrentStatus::Shutdown
            | CurrentStatus::Lost
            | CurrentStatus::NotFound => None,
        }
    }
}

/// Returns what the one word of a status leaves out, with the tools that run.
fn status_detail(status: CurrentStatus, doing: Option<&ActivityKind>) -> Option<String> {
    let at_work = match status {
        CurrentStatus::Running
        | CurrentStatus::Waiting {
            on: WaitingOn::Tool,
        } => doing.and_then(at_work),
        _ => None,
    };
    at_work.or_else(|| status.detail().map(str::to_owned))
}

fn at_work(doing: &ActivityKind) -> Option<String> {
    match doing {
        ActivityKind::Tools(names) => Some(format!("runs {}", names.join(", "))),
        ActivityKind::Compacting => Some("compacts its history".to_owned()),
        ActivityKind::Idle | ActivityKind::Model => None,
    }
}
