//! How an agent stands for others: the durable state joined with slots and activity, and
//! the one table of its names in the three tool families.

use serde::{Deserialize, Serialize};
use troupe_protocol::agent::AgentStatus;

use super::lifecycle::{End, Interruption, Lifecycle};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Born or about to start; its session is being loaded.
    PendingInit,
    /// Starts when a slot is free; 1 is next.
    Queued {
        position: usize,
    },
    Running,
    Waiting {
        on: WaitingOn,
    },
    Completed,
    Errored,
    Interrupted {
        why: Interruption,
    },
    Cancelled,
    BudgetExceeded,
    Shutdown,
    NotFound,
}

/// What a running task waits on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    /// Tells whether a task that waits on this may keep its slot. What only another agent
    /// or a person can end must not hold what that agent may need.
    pub fn keeps_slot(self) -> bool {
        match self {
            Self::Model | Self::Tool | Self::RateLimit => true,
            Self::Approval | Self::User | Self::Child | Self::Slot => false,
        }
    }
}

/// One row: what the seeds call a status, and where it ends a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// `spawn_agent`, `wait`, `list_active_agents`, ….
    pub agents: &'static str,
    /// `create_session`, `wait_session`, `cancel_session`.
    pub sessions: &'static str,
    /// `subagent_*`.
    pub subagents: &'static str,
    pub ends_wait: bool,
    /// An unknown session is an error there, not an answer.
    pub ends_wait_session: bool,
    pub ends_subagent_await: bool,
    /// Left out of `list_active_agents` unless `include_closed`.
    pub closed: bool,
}

impl Status {
    /// The table. `interrupted` is final everywhere: a wait on it would only time out.
    pub fn row(self) -> Row {
        let active = |agents, sessions, subagents| Row {
            agents,
            sessions,
            subagents,
            ends_wait: false,
            ends_wait_session: false,
            ends_subagent_await: false,
            closed: false,
        };
        let last = |agents, sessions, subagents| Row {
            ends_wait: true,
            ends_wait_session: true,
            ends_subagent_await: true,
            ..active(agents, sessions, subagents)
        };
        match self {
            Self::PendingInit => active("pending_init", "pending", "queued"),
            Self::Queued { .. } => active("queued", "pending", "queued"),
            Self::Running | Self::Waiting { .. } => active("running", "pending", "running"),
            Self::Completed => last("completed", "done", "idle"),
            Self::Errored => last("errored", "failed", "failed"),
            Self::Interrupted { .. } => last("interrupted", "cancelled", "canceled"),
            Self::Cancelled => last("cancelled", "cancelled", "canceled"),
            Self::BudgetExceeded => last("budget_exceeded", "failed", "failed"),
            Self::Shutdown => Row {
                closed: true,
                ..last("shutdown", "cancelled", "canceled")
            },
            Self::NotFound => Row {
                closed: true,
                ends_wait_session: false,
                ..last("not_found", "unknown", "unknown")
            },
        }
    }

    pub fn is_final(self) -> bool {
        self.row().ends_wait
    }

    /// Returns the wire form. `text` is the last message or the error, from the result
    /// record.
    pub fn to_wire(self, text: Option<String>) -> AgentStatus {
        match self {
            Self::PendingInit => AgentStatus::PendingInit,
            Self::Queued { position } => AgentStatus::Queued {
                position: u32::try_from(position).unwrap_or(u32::MAX),
            },
            Self::Running | Self::Waiting { .. } => AgentStatus::Running,
            Self::Completed => AgentStatus::Completed(text),
            Self::Errored => AgentStatus::Errored(text.unwrap_or_default()),
            Self::Interrupted { .. } => AgentStatus::Interrupted,
            Self::Cancelled => AgentStatus::Cancelled,
            Self::BudgetExceeded => AgentStatus::BudgetExceeded,
            Self::Shutdown => AgentStatus::Shutdown,
            Self::NotFound => AgentStatus::NotFound,
        }
    }
}

impl From<&Lifecycle> for Status {
    fn from(lifecycle: &Lifecycle) -> Self {
        match lifecycle {
            Lifecycle::PendingInit => Self::PendingInit,
            Lifecycle::Running { .. } => Self::Running,
            Lifecycle::Ended { end, .. } => Self::from(*end),
            Lifecycle::Shutdown { .. } => Self::Shutdown,
        }
    }
}

impl From<End> for Status {
    fn from(end: End) -> Self {
        match end {
            End::Completed => Self::Completed,
            End::Errored | End::FailedToStart => Self::Errored,
            End::Interrupted { why } => Self::Interrupted { why },
            End::Cancelled { .. } => Self::Cancelled,
            End::BudgetExceeded => Self::BudgetExceeded,
            // The next task is on its way.
            End::Replaced => Self::PendingInit,
        }
    }
}
