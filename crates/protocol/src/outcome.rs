//! How a task ended: one type, its table of names, and the conversions from and to every
//! form in which an end is written.
//!
//! Three wires write it, each with what its readers need besides: [`AbortReason`] in the event
//! that ends a task, [`StopReason`] in the result (with texts), [`TaskEnding`] in the lines of a tree
//! (with who ended it). An agent's [`AgentStatus`] shows the end of its last task.

use crate::agent::AgentStatus;
use crate::event::AbortReason;
use crate::result::StopReason;
use crate::tree::{Interruption, TaskEnding};

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskOutcome {
    Completed,
    Errored,
    /// The answer did not fit its schema.
    OutputInvalid,
    /// The session could not be opened.
    FailedToStart,
    /// Somebody interrupted it.
    Interrupted,
    /// The engine died while it ran.
    Crash,
    /// The engine was shut down while it ran.
    Shutdown,
    Cancelled,
    BudgetExceeded,
    /// Newer input took its place.
    Replaced,
}

/// What an outcome means to somebody who only wants to know whether the work was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutcomeClass {
    Completed,
    Failed,
    /// It did not fail, and can be continued.
    Interrupted,
    /// Somebody did not want it any more.
    Cancelled,
}

/// The names of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutcomeRow {
    /// Tells all outcomes apart: `stopReason` of a callback, and texts of logs.
    pub name: &'static str,
    /// `status` of a callback.
    pub callback: &'static str,
    /// `status` of a task for clients of the MCP server.
    pub mcp: &'static str,
    pub class: OutcomeClass,
}

impl TaskOutcome {
    pub const ALL: [Self; 10] = [
        Self::Completed,
        Self::Errored,
        Self::OutputInvalid,
        Self::FailedToStart,
        Self::Interrupted,
        Self::Crash,
        Self::Shutdown,
        Self::Cancelled,
        Self::BudgetExceeded,
        Self::Replaced,
    ];

    /// Returns the row of this outcome in the one table of names. A task that ended with its
    /// engine, by a crash or a shutdown, counts as interrupted everywhere: it did not fail, and
    /// can be resumed.
    pub fn row(self) -> OutcomeRow {
        use OutcomeClass::{Cancelled, Completed, Failed, Interrupted};
        let (name, callback, mcp, class) = match self {
            Self::Completed => ("completed", "completed", "completed", Completed),
            Self::Errored => ("errored", "failed", "errored", Failed),
            Self::OutputInvalid => ("output_invalid", "failed", "errored", Failed),
            Self::FailedToStart => ("failed_to_start", "failed", "errored", Failed),
            Self::Interrupted => ("interrupted", "interrupted", "interrupted", Interrupted),
            Self::Crash => ("crash", "interrupted", "crash", Interrupted),
            Self::Shutdown => ("shutdown", "interrupted", "interrupted", Interrupted),
            Self::Cancelled => ("cancelled", "interrupted", "cancelled", Cancelled),
            Self::BudgetExceeded => {
                let name = "budget_exceeded";
                (name, name, name, Failed)
            }
            Self::Replaced => ("replaced", "interrupted", "replaced", Interrupted),
        };
        OutcomeRow {
            name,
            callback,
            mcp,
            class,
        }
    }

    pub fn class(self) -> OutcomeClass {
        self.row().class
    }

    pub fn as_str(self) -> &'static str {
        self.row().name
    }

    /// Returns how a session tells of a task that it ends in this way; none for one that was
    /// completed, which is no abort.
    pub fn abort_reason(self) -> Option<AbortReason> {
        Some(match self {
            Self::Completed => return None,
            Self::Errored | Self::OutputInvalid | Self::FailedToStart => AbortReason::Error,
            // To its session a cancel is an interrupt: only the tree knows the difference.
            Self::Interrupted | Self::Cancelled => AbortReason::Interrupted,
            Self::Crash => AbortReason::Crash,
            Self::Shutdown => AbortReason::Shutdown,
            Self::BudgetExceeded => AbortReason::BudgetLimited,
            Self::Replaced => AbortReason::Replaced,
        })
    }
}

impl From<AbortReason> for TaskOutcome {
    fn from(reason: AbortReason) -> Self {
        match reason {
            AbortReason::Interrupted | AbortReason::ReviewEnded => Self::Interrupted,
            AbortReason::Replaced => Self::Replaced,
            AbortReason::Error => Self::Errored,
            AbortReason::Crash => Self::Crash,
            AbortReason::BudgetLimited => Self::BudgetExceeded,
            AbortReason::Shutdown => Self::Shutdown,
        }
    }
}

impl From<&StopReason> for TaskOutcome {
    fn from(stop: &StopReason) -> Self {
        match stop {
            StopReason::Completed => Self::Completed,
            StopReason::Errored { .. } => Self::Errored,
            StopReason::OutputInvalid { .. } => Self::OutputInvalid,
            StopReason::FailedToStart { .. } => Self::FailedToStart,
            StopReason::Interrupted => Self::Interrupted,
            StopReason::Crash => Self::Crash,
            StopReason::Shutdown => Self::Shutdown,
            StopReason::Cancelled { .. } => Self::Cancelled,
            StopReason::BudgetExceeded => Self::BudgetExceeded,
            StopReason::Replaced => Self::Replaced,
        }
    }
}

impl From<TaskEnding> for TaskOutcome {
    fn from(end: TaskEnding) -> Self {
        match end {
            TaskEnding::Completed => Self::Completed,
            TaskEnding::Errored => Self::Errored,
            TaskEnding::FailedToStart => Self::FailedToStart,
            TaskEnding::Interrupted { why } => match why {
                Interruption::User | Interruption::Parent | Interruption::Reconfigured => {
                    Self::Interrupted
                }
                Interruption::Crash => Self::Crash,
                Interruption::Shutdown => Self::Shutdown,
            },
            TaskEnding::Cancelled { .. } => Self::Cancelled,
            TaskEnding::BudgetExceeded => Self::BudgetExceeded,
            TaskEnding::Replaced => Self::Replaced,
        }
    }
}

impl AbortReason {
    /// Returns its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Interrupted => "interrupted",
            Self::Replaced => "replaced",
            Self::Error => "error",
            Self::Crash => "crash",
            Self::ReviewEnded => "review_ended",
            Self::BudgetLimited => "budget_limited",
            Self::Shutdown => "shutdown",
        }
    }
}

impl StopReason {
    /// Returns the error that a task ended with.
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Errored { message, .. }
            | Self::OutputInvalid { message }
            | Self::FailedToStart { message } => Some(message),
            Self::Completed
            | Self::Interrupted
            | Self::Crash
            | Self::Shutdown
            | Self::Cancelled { .. }
            | Self::BudgetExceeded
            | Self::Replaced => None,
        }
    }
}

impl AgentStatus {
    /// Returns how the agent's last task ended, as far as the status shows it.
    pub fn outcome(&self) -> Option<TaskOutcome> {
        match self {
            Self::Completed(_) => Some(TaskOutcome::Completed),
            Self::Errored(_) => Some(TaskOutcome::Errored),
            Self::Interrupted => Some(TaskOutcome::Interrupted),
            Self::Cancelled => Some(TaskOutcome::Cancelled),
            Self::BudgetExceeded => Some(TaskOutcome::BudgetExceeded),
            Self::PendingInit
            | Self::Ready
            | Self::Queued { .. }
            | Self::Running
            | Self::Shutdown
            | Self::Lost(_)
            | Self::NotFound => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use expect_test::expect;

    use super::*;

    #[test]
    fn every_outcome_has_one_row_of_names() {
        let mut rows = String::new();
        for outcome in TaskOutcome::ALL {
            let OutcomeRow {
                name,
                callback,
                mcp,
                class,
            } = outcome.row();
            writeln!(rows, "{name}: {callback}, {mcp}, {class:?}").unwrap();
        }
        expect![[r#"
            completed: completed, completed, Completed
            errored: failed, errored, Failed
            output_invalid: failed, errored, Failed
            failed_to_start: failed, errored, Failed
            interrupted: interrupted, interrupted, Interrupted
            crash: interrupted, crash, Interrupted
            shutdown: interrupted, interrupted, Interrupted
            cancelled: interrupted, cancelled, Cancelled
            budget_exceeded: budget_exceeded, budget_exceeded, Failed
            replaced: interrupted, replaced, Interrupted
        "#]]
        .assert_eq(&rows);
    }

    #[test]
    fn event_result_and_tree_line_of_a_crash_mean_the_same_outcome() {
        let of_tree = TaskEnding::Interrupted {
            why: Interruption::Crash,
        };
        let outcomes = [
            TaskOutcome::from(AbortReason::Crash),
            TaskOutcome::from(&StopReason::Crash),
            TaskOutcome::from(of_tree),
        ];
        assert_eq!(outcomes, [TaskOutcome::Crash; 3]);
        assert_eq!(TaskOutcome::Crash.class(), OutcomeClass::Interrupted);
    }

    #[test]
    fn the_event_of_an_end_means_that_end_again() {
        for outcome in TaskOutcome::ALL {
            let Some(reason) = outcome.abort_reason() else {
                assert_eq!(outcome, TaskOutcome::Completed);
                continue;
            };
            let again = TaskOutcome::from(reason);
            let is_cancel = outcome == TaskOutcome::Cancelled;
            assert!(is_cancel || again.class() == outcome.class(), "{outcome:?}");
            let wire = serde_json::to_value(reason).unwrap();
            assert_eq!(wire, reason.as_str());
        }
    }
}
