//! What a tree answers, in words for people and in the form of the link.

use troupe_protocol::link::query::MessageReceipt;
use troupe_protocol::tree::Interruption;

use crate::effect::{DeliveryReceipt, HoldReason, StopSkipReason, UndeliverableReason};
use crate::status::CurrentStatus;
use troupe_protocol::agent::WaitingOn;

/// What is said of an agent whose call waits for agents below it.
pub const WAITS_FOR_CHILD: &str = "waits for a child";

impl CurrentStatus {
    /// Returns what the one word of a status leaves out.
    pub fn detail(self) -> Option<&'static str> {
        let text = match self {
            Self::Waiting { on } => match on {
                WaitingOn::Approval => "waits for an approval",
                WaitingOn::User => "waits for the user",
                WaitingOn::Child => WAITS_FOR_CHILD,
                WaitingOn::Slot => "waits for a slot",
                WaitingOn::RateLimit => "waits for the rate limit",
                WaitingOn::Model => "waits for the model",
                WaitingOn::Tool => "runs a tool",
            },
            Self::Interrupted { why } => match why {
                Interruption::User => "by the user",
                Interruption::Parent => "by its parent",
                Interruption::Crash => "Troupe was killed",
                Interruption::Shutdown => "Troupe was shut down",
                Interruption::Reconfigured => "the session was configured anew",
            },
            Self::Running
            | Self::PendingInit
            | Self::Ready
            | Self::Queued { .. }
            | Self::Completed
            | Self::Errored
            | Self::Cancelled
            | Self::BudgetExceeded
            | Self::Shutdown
            | Self::Lost
            | Self::NotFound => return None,
        };
        Some(text)
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
