//! What a tree answers, in words for people and in the form of the link.

use troupe_engine::Doing;
use troupe_protocol::link::query::{AgentCard, AgentMaking, MessageReceipt};

use super::view::AgentView;
use crate::tree::effect::{DeadWhy, HeldWhy, Receipt, SkipWhy};
use crate::tree::lifecycle::Interruption;
use crate::tree::status::{Status, WaitingOn};

/// What is said of an agent whose call waits for agents below it.
pub const WAITS_FOR_CHILD: &str = "waits for a child";

/// Returns what the one word of a status leaves out.
pub fn status_detail(status: Status, doing: Option<&Doing>) -> Option<String> {
    let text = match status {
        Status::Waiting { on } => match on {
            WaitingOn::Approval => "waits for an approval",
            WaitingOn::User => "waits for the user",
            WaitingOn::Child => WAITS_FOR_CHILD,
            WaitingOn::Slot => "waits for a slot",
            WaitingOn::RateLimit => "waits for the rate limit",
            WaitingOn::Model => "waits for the model",
            WaitingOn::Tool => return at_work(doing).or_else(|| Some("runs a tool".to_owned())),
        },
        Status::Interrupted { why } => match why {
            Interruption::User => "by the user",
            Interruption::Parent => "by its parent",
            Interruption::Crash => "Troupe was killed",
            Interruption::Shutdown => "Troupe was shut down",
            Interruption::Reconfigured => "the session was configured anew",
        },
        Status::Running => return at_work(doing),
        Status::PendingInit
        | Status::Ready
        | Status::Queued { .. }
        | Status::Completed
        | Status::Errored
        | Status::Cancelled
        | Status::BudgetExceeded
        | Status::Shutdown
        | Status::Lost
        | Status::NotFound => return None,
    };
    Some(text.to_owned())
}

fn at_work(doing: Option<&Doing>) -> Option<String> {
    match doing? {
        Doing::Tools(names) => Some(format!("runs {}", names.join(", "))),
        Doing::Compacting => Some("compacts its history".to_owned()),
        Doing::Idle | Doing::Model => None,
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

impl Receipt {
    /// Returns what became of a message, as clients of a link read it.
    pub fn told(self) -> MessageReceipt {
        match self {
            Self::Delivered => MessageReceipt::Delivered,
            Self::Queued { position } => MessageReceipt::Queued { position },
            Self::Held { why } => MessageReceipt::Held {
                until: match why {
                    HeldWhy::Waiting(WaitingOn::Approval) => "an approval is answered",
                    HeldWhy::Waiting(WaitingOn::User) => "the user has answered it",
                    HeldWhy::Waiting(WaitingOn::Child) => "its wait for a child is over",
                    HeldWhy::Waiting(WaitingOn::Slot) => "a slot is free",
                    HeldWhy::Waiting(WaitingOn::Model | WaitingOn::Tool | WaitingOn::RateLimit) => {
                        "its present step is over"
                    }
                    HeldWhy::Stopping => "its task has been interrupted",
                }
                .to_owned(),
            },
            Self::Dead { why } => MessageReceipt::Dead {
                why: match why {
                    DeadWhy::Closed => "it is closed; resume it first",
                    DeadWhy::Pruned => "it was pruned; only its result is left",
                    DeadWhy::Lost => "its log is gone; spawn another agent for the work",
                    DeadWhy::Stopping => "it is being stopped; try again when it has ended",
                }
                .to_owned(),
            },
        }
    }
}

impl SkipWhy {
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
