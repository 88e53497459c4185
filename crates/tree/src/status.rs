//! How an agent stands for others: the durable state joined with slots and activity. What
//! the tool families call it is one table in [`troupe_protocol::agent`].

use serde::{Deserialize, Serialize};
use troupe_protocol::agent::{AgentStatus, StatusRow};
use troupe_protocol::tree::{Interruption, TaskEnding};

use crate::lifecycle::Lifecycle;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CurrentStatus {
    /// Born or about to start; its session is being loaded.
    PendingInit,
    /// Born without a message; starts when one comes.
    Ready,
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
    /// Its log is gone.
    Lost,
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

impl CurrentStatus {
    /// Returns how it is called and what it ends, from the table of all statuses.
    pub fn row(self) -> StatusRow {
        self.to_wire(None).row()
    }

    pub fn is_final(self) -> bool {
        self.row().is_final()
    }

    /// Returns the wire form. `text` is the last message or the error, from the result
    /// record.
    pub fn to_wire(self, text: Option<String>) -> AgentStatus {
        match self {
            Self::PendingInit => AgentStatus::PendingInit,
            Self::Ready => AgentStatus::Ready,
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
            // What was told of it last is not the tree's to know.
            Self::Lost => AgentStatus::Lost(None),
            Self::NotFound => AgentStatus::NotFound,
        }
    }
}

impl From<&Lifecycle> for CurrentStatus {
    fn from(lifecycle: &Lifecycle) -> Self {
        match lifecycle {
            Lifecycle::PendingInit => Self::PendingInit,
            Lifecycle::Running { .. } => Self::Running,
            Lifecycle::Ended { end, .. } => Self::from(*end),
            Lifecycle::Shutdown { .. } => Self::Shutdown,
        }
    }
}

impl From<TaskEnding> for CurrentStatus {
    fn from(end: TaskEnding) -> Self {
        match end {
            TaskEnding::Completed => Self::Completed,
            TaskEnding::Errored | TaskEnding::FailedToStart => Self::Errored,
            TaskEnding::Interrupted { why } => Self::Interrupted { why },
            TaskEnding::Cancelled { .. } => Self::Cancelled,
            TaskEnding::BudgetExceeded => Self::BudgetExceeded,
            // The next task is on its way.
            TaskEnding::Replaced => Self::PendingInit,
        }
    }
}
