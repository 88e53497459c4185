//! One task in flight, as far as the tree must know it while the process lives.

use std::collections::{BTreeMap, BTreeSet};

use troupe_protocol::SubmissionId;

use super::effect::WaitAnswer;
use super::id::{MessageId, WaitId};
use super::status::{Status, WaitingOn};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub task: SubmissionId,
    pub stage: Stage,
    pub seat: Seat,
    /// What the task is busy with while it keeps its slot.
    pub busy_with: Option<WaitingOn>,
    /// An open approval or question.
    pub asks: Option<WaitingOn>,
    /// Open waits.
    pub waits: BTreeSet<WaitId>,
    /// Answered waits, and what each delivers once it is taken.
    pub claims: BTreeMap<WaitId, Vec<MessageId>>,
    /// What is handed over as soon as the agent has its slot.
    pub due: Vec<Due>,
    pub replacement: Replacement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Asked for; the message stays in the inbox until the session has begun.
    Starting {
        message: MessageId,
    },
    Running,
}

/// How a task stands to the slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seat {
    /// The root needs none.
    Exempt,
    Held,
    /// Given back while the task is blocked.
    Given,
    /// Not blocked any more, in line for a slot.
    Returning,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Due {
    Answer { wait: WaitId, answer: WaitAnswer },
    Proceed,
}

/// Whether the task was told to make room for newer input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replacement {
    None,
    Asked,
}

impl Run {
    pub fn starting(task: SubmissionId, message: MessageId, seat: Seat) -> Self {
        Self {
            stage: Stage::Starting { message },
            ..Self::running(task, seat)
        }
    }

    pub fn running(task: SubmissionId, seat: Seat) -> Self {
        Self {
            task,
            stage: Stage::Running,
            seat,
            busy_with: None,
            asks: None,
            waits: BTreeSet::new(),
            claims: BTreeMap::new(),
            due: Vec::new(),
            replacement: Replacement::None,
        }
    }

    /// Tells whether only others can make the task go on.
    pub fn is_blocked(&self) -> bool {
        self.asks.is_some() || !self.waits.is_empty()
    }

    pub fn status(&self) -> Status {
        let on = match self.stage {
            Stage::Starting { .. } => return Status::PendingInit,
            Stage::Running if self.seat == Seat::Returning => Some(WaitingOn::Slot),
            Stage::Running if !self.waits.is_empty() => self.asks.or(Some(WaitingOn::Child)),
            Stage::Running => self.asks.or(self.busy_with),
        };
        match on {
            Some(on) => Status::Waiting { on },
            None => Status::Running,
        }
    }

    /// Tells whether a wait of this task has promised the message already.
    pub fn has_claimed(&self, message: MessageId) -> bool {
        self.claims
            .values()
            .any(|messages| messages.contains(&message))
    }
}
