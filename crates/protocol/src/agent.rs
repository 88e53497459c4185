//! Agents as members of a tree: summaries, statuses, collaboration events.

mod card;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, CallId, SessionId};
use crate::policy::ReasoningEffort;

pub use card::{AgentCard, AgentMaking, PendingMail, TokenSums};

/// How an agent stands, as other agents and UIs see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "closed"), non_exhaustive)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum AgentStatus {
    PendingInit,
    /// Never ran, and was given nothing to do yet.
    Ready,
    Queued {
        position: u32,
    },
    Running,
    Completed(Option<String>),
    Errored(String),
    Interrupted,
    Cancelled,
    BudgetExceeded,
    Shutdown,
    /// Its log is gone: it ran once, and cannot run again. With how it stood when the root's
    /// log told of it last.
    Lost(Option<Box<AgentStatus>>),
    NotFound,
}

/// What a status is called, and what it means to whoever waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusRow {
    /// `spawn_agent`, `wait`, `list_active_agents`, …, and everybody who is not a model.
    pub agents: &'static str,
    /// `subagent_*`.
    pub subagents: &'static str,
    pub standing: StatusClass,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusClass {
    /// At work, or about to be.
    Active,
    /// Ends `wait`, `wait_session` and `subagent_await`: nothing more comes of its own.
    Final,
    /// Final, and left out of lists unless they are asked for closed ones.
    Closed,
}

impl StatusRow {
    pub fn is_final(self) -> bool {
        self.standing != StatusClass::Active
    }

    pub fn is_closed(self) -> bool {
        self.standing == StatusClass::Closed
    }
}

impl AgentStatus {
    /// Returns the row of this status in the one table of names and of what ends a wait. The
    /// family `sessions` has no names of its own: its answers tell an end in a sentence.
    /// `interrupted` and `ready` are final, because a wait on them would only time out.
    pub fn row(&self) -> StatusRow {
        use StatusClass::{Active, Closed, Final};
        let (agents, subagents, standing) = match self {
            Self::PendingInit => ("pending_init", "queued", Active),
            Self::Queued { .. } => ("queued", "queued", Active),
            Self::Running => ("running", "running", Active),
            Self::Ready => ("ready", "ready", Final),
            Self::Completed(_) => ("completed", "idle", Final),
            Self::Errored(_) => ("errored", "failed", Final),
            Self::Interrupted => ("interrupted", "canceled", Final),
            Self::Cancelled => ("cancelled", "canceled", Final),
            Self::BudgetExceeded => ("budget_exceeded", "failed", Final),
            Self::Shutdown => ("shutdown", "canceled", Closed),
            Self::Lost(_) => ("lost", "lost", Final),
            Self::NotFound => ("not_found", "unknown", Closed),
        };
        StatusRow {
            agents,
            subagents,
            standing,
        }
    }
}

impl AgentStatus {
    /// Tells whether this is told only of agents that have run, and therefore have a log. One
    /// can be stopped, or fail to start, before it has any.
    pub fn shows_that_it_ran(&self) -> bool {
        matches!(
            self,
            Self::Running | Self::Completed(_) | Self::BudgetExceeded
        )
    }

    /// Returns what the agent said last, or what went wrong, as far as the status has it.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Completed(text) => text.as_deref(),
            Self::Errored(text) => Some(text),
            Self::Lost(last) => last.as_deref().and_then(Self::text),
            Self::PendingInit
            | Self::Ready
            | Self::Queued { .. }
            | Self::Running
            | Self::Interrupted
            | Self::Cancelled
            | Self::BudgetExceeded
            | Self::Shutdown
            | Self::NotFound => None,
        }
    }
}

/// What a running task waits on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum WaitingOn {
    Model,
    Tool,
    RateLimit,
    Approval,
    User,
    Child,
    Slot,
}

impl WaitingOn {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Tool => "tool",
            Self::RateLimit => "rate_limit",
            Self::Approval => "approval",
            Self::User => "user",
            Self::Child => "child",
            Self::Slot => "slot",
        }
    }

    /// Tells whether a task that waits on this may keep its slot. What only another agent
    /// or a person can end must not hold what that agent may need.
    pub fn keeps_slot(self) -> bool {
        match self {
            Self::Model | Self::Tool | Self::RateLimit => true,
            Self::Approval | Self::User | Self::Child | Self::Slot => false,
        }
    }
}

/// How a child came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum AgentOrigin {
    Spawn,
    Fork,
    SendMessage,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SubagentSummary {
    pub agent_id: AgentId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<AgentId>,
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<SessionId>,
    /// Its place in the tree, such as `/root/tests`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub origin: AgentOrigin,
    pub status: AgentStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_header: Option<String>,
    pub started_at_ms: i64,
    pub pending_messages: u32,
    pub pending_interrupts: u32,
}

/// A change in the engine's view of a child. Each has the whole summary, so that a UI can draw
/// the tree from any of them; events of older logs have it only in `created`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum SubagentLifecycle {
    Created {
        subagent: SubagentSummary,
    },
    Status {
        agent_id: AgentId,
        session_id: SessionId,
        status: AgentStatus,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subagent: Option<Box<SubagentSummary>>,
    },
    ReasoningHeader {
        agent_id: AgentId,
        session_id: SessionId,
        reasoning_header: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subagent: Option<Box<SubagentSummary>>,
    },
    Deleted {
        agent_id: AgentId,
        session_id: SessionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subagent: Option<Box<SubagentSummary>>,
    },
    /// An agent of a tree that was taken up again from its logs, as it stands now.
    Restored {
        subagent: SubagentSummary,
    },
}

/// How much mail waits for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentInbox {
    pub agent_id: AgentId,
    pub session_id: SessionId,
    pub pending_messages: u32,
    pub pending_interrupts: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CollabSpawnBegin {
    pub call_id: CallId,
    pub sender_thread_id: SessionId,
    pub prompt: String,
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CollabSpawnEnd {
    pub call_id: CallId,
    pub sender_thread_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_thread_id: Option<SessionId>,
    pub prompt: String,
    pub status: AgentStatus,
}

/// Begin of a message, close or resume from one agent to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CollabInteraction {
    pub call_id: CallId,
    pub sender_thread_id: SessionId,
    pub receiver_thread_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Set at the end of the interaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<AgentStatus>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CollabWaiting {
    pub call_id: CallId,
    pub sender_thread_id: SessionId,
    pub receiver_thread_ids: Vec<SessionId>,
    /// Set at the end of the wait.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<SessionId, AgentStatus>,
}

#[cfg(test)]
mod tests;
