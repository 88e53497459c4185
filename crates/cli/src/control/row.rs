//! One agent of a tree, as lists show it: from a running tree or from its logs.

use serde::{Deserialize, Serialize};
use troupe_agents::tree_access::{AgentView, status_detail};
use troupe_protocol::agent::{AgentOrigin, AgentStatus};
use troupe_protocol::spawn::SpawnSpec;
use troupe_protocol::{AgentId, SessionId, SubmissionId};
use troupe_tree::inbox::InboxCounts;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentListRow {
    pub agent_id: AgentId,
    pub session_id: SessionId,
    /// Absent for the root and for the released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<AgentId>,
    pub path: String,
    /// Absent for the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<ChildBirth>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub status: AgentStatus,
    /// Why it was interrupted, what it waits on, which tools run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    pub since_ms: i64,
    pub born_ms: i64,
    /// How long its last task ran that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran_ms: Option<u64>,
    pub tokens: TokenSums,
    pub pending: PendingMail,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_task: Option<SubmissionId>,
    /// Only its results are left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pruned: bool,
}

/// How a child came to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildBirth {
    pub origin: AgentOrigin,
    pub role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub model: String,
    /// The beginning of its first task.
    pub summary: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenSums {
    pub own: u64,
    /// With everybody below.
    pub subtree: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingMail {
    pub messages: u32,
    pub interrupts: u32,
}

impl AgentListRow {
    /// Returns an agent of a running tree.
    pub fn of(view: &AgentView) -> Self {
        let doing = view.pulse.as_ref().map(|pulse| &pulse.doing);
        Self {
            agent_id: view.agent,
            session_id: view.session,
            parent_agent_id: view.parent,
            path: view.path.clone(),
            made: view
                .spec
                .as_ref()
                .map(|spec| ChildBirth::by(spec, view.origin.unwrap_or(AgentOrigin::Spawn))),
            note: view.note.clone(),
            status: view.wire_status(),
            detail: status_detail(view.status, doing),
            since_ms: view.since_ms,
            born_ms: view.born_at_ms,
            ran_ms: view.ran_ms,
            tokens: TokenSums {
                own: view.usage.total_tokens,
                subtree: view.subtree_usage.total_tokens,
            },
            pending: PendingMail::of(view.pending),
            last_task: view.last_task.clone(),
            pruned: view.pruned,
        }
    }

    /// Returns the last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

impl ChildBirth {
    pub fn by(spec: &SpawnSpec, origin: AgentOrigin) -> Self {
        Self {
            origin,
            role: spec.agent_type.clone(),
            persona: spec.agent_name.clone(),
            label: spec.label.clone(),
            model: spec.model.clone(),
            summary: spec.summary.clone(),
        }
    }
}

impl PendingMail {
    pub fn of(depth: InboxCounts) -> Self {
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            messages: count(depth.messages),
            interrupts: count(depth.interrupts),
        }
    }
}
