//! What a tree answers, in words for people and in the form of the link.

use troupe_engine::ActivityKind;
use troupe_protocol::link::query::{AgentCard, AgentMaking, MessageReceipt};

use super::view::AgentView;
use crate::tree::effect::{DeliveryReceipt, HoldReason, StopSkipReason, UndeliverableReason};
use crate::tree::lifecycle::Interruption;
use crate::tree::status::{CurrentStatus, WaitingOn};

/// What is said of an agent whose call waits for agents below it.
pub const WAITS_FOR_CHILD: &str = "waits for a child";

/// Returns what the one word of a status leaves out.
pub fn status_detail(status: CurrentStatus, doing: Option<&ActivityKind>) -> Option<String> {
    let text = match status {
        CurrentStatus::Waiting { on } => match on {
            WaitingOn::Approval => "waits for an approval",
            WaitingOn::User => "waits for the user",
            WaitingOn::Child => WAITS_FOR_CHILD,
            WaitingOn::Slot => "waits for a slot",
            WaitingOn::RateLimit => "waits for the rate limit",
            WaitingOn::Model => "waits for the model",
            WaitingOn::Tool => return at_work(doing).or_else(|| Some("runs a tool".to_owned())),
        },
        CurrentStatus::Interrupted { why } => match why {
            Interruption::User => "by the user",
            Interruption::Parent => "by its parent",
            Interruption::Crash => "Troupe was killed",
            Interruption::Shutdown => "Troupe was shut down",
            Interruption::Reconfigured => "the session was configured anew",
        },
        CurrentStatus::Running => return at_work(doing),
        CurrentStatus::PendingInit
        | CurrentStatus::Ready
        | CurrentStatus::Queued { .. }
        | CurrentStatus::Completed
        | CurrentStatus::Errored
        | CurrentStatus::Cancelled
        | CurrentStatus::BudgetExceeded
        | CurrentStatus::Shutdown
        | CurrentStatus::Lost
        | CurrentStatus::NotFound => return None,
    };
    Some(text.to_owned())
}

fn at_work(doing: Option<&ActivityKind>) -> Option<String> {
    match doing? {
        ActivityKind::Tools(names) => Some(format!("runs {}", names.join(", "))),
        ActivityKind::Compacting => Some("compacts its history".to_owned()),
        ActivityKind::Idle | ActivityKind::Model => None,
    }
}

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
            }),
            note: self.note.clone(),
            detail: status_detail(self.status, self.pulse.as_ref().map(|pulse| &pulse.doing)),
            since_ms: self.since_ms,
            progress_ms: self.updated_at_ms(),
            ran_ms: self.ran_ms,
            last_task: self.last_task.clone(),
            total_tokens: self.usage.total_tokens,
            subtree_tokens: self.subtree_usage.total_tokens,
            pruned: self.pruned,
        }
    }
}

impl DeliveryReceipt {
    /// Returns what became of a message, as clients of a link read it.
    pub fn told(self) -> MessageReceipt {
        match self {
            Self::Delivered => MessageReceipt::Delivered,
            Self::Queued { position } => MessageReceipt::Queued { position },
            Self::Held { why } => MessageReceipt::Held {
                until: match why {
                    HoldReason::Waiting(WaitingOn::Approval) => "an approval is answered",
                    HoldReason::Waiting(WaitingOn::User) => "the user has answered it",
                    HoldReason::Waiting(WaitingOn::Child) => "its wait for a child is over",
                    HoldReason::Waiting(WaitingOn::Slot) => "a slot is free",
                    HoldReason::Waiting(
                        WaitingOn::Model | WaitingOn::Tool | WaitingOn::RateLimit,
                    ) => "its present step is over",
                    HoldReason::Stopping => "its task has been interrupted",
                }
                .to_owned(),
            },
            Self::Dead { why } => MessageReceipt::Dead {
                why: match why {
                    UndeliverableReason::Closed => "it is closed; resume it first",
                    UndeliverableReason::Pruned => "it was pruned; only its result is left",
                    UndeliverableReason::Lost => {
                        "its log is gone; spawn another agent for the work"
                    }
                    UndeliverableReason::Stopping => {
                        "it is being stopped; try again when it has ended"
                    }
                }
                .to_owned(),
            },
        }
    }
}

impl StopSkipReason {
    /// Says why a stop leaves an agent as it is.
    pub fn told(self) -> &'static str {
        match self {
            Self::Idle => "nothing runs",
            Self::Active => "not finished; cancel or close it first",
            Self::AlreadyDone => "done already",
            Self::Unknown => "unknown",
        }
    }
}
