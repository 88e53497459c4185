//! The lifecycle of an agent: its states, and the one function that changes them.
//!
//! ```text
//!  pending_init ──start──► running ──end──► ended ──shut──► shutdown
//!       │                     ▲               │ ▲               │
//!       │                     └────start──────┘ └────reopen─────┘
//!       └──────────end before it started──────►
//! ```
//!
//! This is the durable part. Queued and waiting are live: they follow from the slots and
//! from what a running task does, and are joined with this in [`status`](crate::status).

use thiserror::Error;
use troupe_protocol::SubmissionId;
use troupe_protocol::tree::TaskEnding;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lifecycle {
    /// Born, never started.
    PendingInit,
    Running {
        task: SubmissionId,
    },
    /// Idle; a new input starts it again.
    Ended {
        task: SubmissionId,
        end: TaskEnding,
    },
    /// Closed; must be resumed before it takes input.
    Shutdown {
        last: Option<LastTask>,
    },
}

/// The last task of a closed agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastTask {
    pub task: SubmissionId,
    pub end: TaskEnding,
}

/// One step of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LifecycleChange {
    Start {
        task: SubmissionId,
    },
    End {
        task: SubmissionId,
        end: TaskEnding,
    },
    /// Stopped while idle, before it took the next callback.
    Halt {
        end: TaskEnding,
    },
    Shut,
    Reopen,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("an agent that is {from} cannot {change}")]
pub struct IllegalChange {
    pub from: &'static str,
    pub change: &'static str,
}

impl Lifecycle {
    /// Returns the state after `change`, or why there is none.
    pub fn after(&self, change: LifecycleChange) -> Result<Self, IllegalChange> {
        match (self, change) {
            (Self::PendingInit | Self::Ended { .. }, LifecycleChange::Start { task }) => {
                Ok(Self::Running { task })
            }
            (Self::PendingInit, LifecycleChange::End { task, end }) => {
                Ok(Self::Ended { task, end })
            }
            (Self::Running { task: running }, LifecycleChange::End { task, end })
                if *running == task =>
            {
                Ok(Self::Ended { task, end })
            }
            // A next task may end before it started, but none ends twice.
            (Self::Ended { task: last, .. }, LifecycleChange::End { task, end })
                if *last != task =>
            {
                Ok(Self::Ended { task, end })
            }
            (Self::Ended { task, .. }, LifecycleChange::Halt { end }) => Ok(Self::Ended {
                task: task.clone(),
                end,
            }),
            (Self::PendingInit, LifecycleChange::Shut) => Ok(Self::Shutdown { last: None }),
            (Self::Ended { task, end }, LifecycleChange::Shut) => Ok(Self::Shutdown {
                last: Some(LastTask {
                    task: task.clone(),
                    end: *end,
                }),
            }),
            (Self::Shutdown { last }, LifecycleChange::Reopen) => Ok(match last {
                None => Self::PendingInit,
                Some(last) => Self::Ended {
                    task: last.task.clone(),
                    end: last.end,
                },
            }),
            (from, change) => Err(IllegalChange {
                from: from.name(),
                change: change.name(),
            }),
        }
    }

    /// Tells whether an idle agent in this state starts a task for a callback. After a
    /// stop it waits for a word of its own, else stopping would stop nothing. A root for
    /// which the user made children before it had a task of its own hears of them too.
    pub fn takes_callbacks(&self) -> bool {
        match self {
            Self::Ended { end, .. } => matches!(end, TaskEnding::Completed | TaskEnding::Errored),
            Self::PendingInit => true,
            Self::Running { .. } | Self::Shutdown { .. } => false,
        }
    }

    pub fn is_running(&self) -> bool {
        matches!(self, Self::Running { .. })
    }

    pub fn is_shutdown(&self) -> bool {
        matches!(self, Self::Shutdown { .. })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::PendingInit => "pending_init",
            Self::Running { .. } => "running",
            Self::Ended { .. } => "ended",
            Self::Shutdown { .. } => "shutdown",
        }
    }
}

impl LifecycleChange {
    fn name(&self) -> &'static str {
        match self {
            Self::Start { .. } => "start",
            Self::End { .. } => "end this task",
            Self::Halt { .. } => "be halted",
            Self::Shut => "be shut down",
            Self::Reopen => "be reopened",
        }
    }
}
