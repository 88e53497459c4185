//! How an agent stands for others: the durable state joined with slots and activity. What
//! the tool families call it is one table in [`troupe_protocol::agent`].

use troupe_protocol::agent::{AgentStatus, StatusRow, WaitingOn};
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

impl CurrentStatus {
    /// Returns how it is called and what it ends, from the table of all statuses.
    pub fn row(self) -> StatusRow {
        self.to_wire(None).row()
    }

    pub fn is_final(self) -> bool {
        self.row().is_final()
    }

    /// Returns why it was interrupted, which its wire form does not tell.
    pub fn interruption(self) -> Option<Interruption> {
        if let Self::Interrupted { why } = self {
            Some(why)
        } else {
            None
        }
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
