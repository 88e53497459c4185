//! An agent as clients of a link see it.

use troupe_engine::ActivityKind;
use troupe_protocol::link::query::{AgentCard, AgentMaking};
use troupe_tree::CurrentStatus;
use troupe_tree::status::WaitingOn;

use super::view::AgentView;

impl AgentView {
    /// Returns the agent as clients of a link see it.
    pub fn card(&self) -> AgentCard {
        AgentCard {
            summary: self.summary(),
            made: self.spec.as_ref().map(|spec| AgentMaking {
                role: spec.agent_type.clone(),
                model: spec.model.clone(),
                effort: spec.reasoning_effort,
                cwd: spec.cwd.clone(),
                sandbox: spec.sandbox_policy.clone(),
                sandbox_held: spec.sandbox_held.clone(),
                approvals: spec.approvals,
            }),
            note: self.note.clone(),
            detail: status_detail(self.status, self.pulse.as_ref().map(|pulse| &pulse.doing)),
            since_ms: self.since_ms,
            progress_ms: self.updated_at_ms(),
            ran_ms: self.ran_ms,
            last_task: self.last_task.clone(),
            read: false,
            total_tokens: self.usage.total_tokens,
            subtree_tokens: self.subtree_usage.total_tokens,
            pruned: self.pruned,
        }
    }
}

/// Returns what the one word of a status leaves out, with the tools that run.
pub fn status_detail(status: CurrentStatus, doing: Option<&ActivityKind>) -> Option<String> {
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
