//! One task in flight, as far as the tree must know it while the process lives.

use std::collections::{BTreeMap, BTreeSet};

use troupe_protocol::SubmissionId;
use troupe_protocol::tree::MessageId;

use super::WaitId;
use crate::effect::WaitAnswer;
use crate::status::CurrentStatus;
use troupe_protocol::agent::WaitingOn;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TaskRun {
    pub task: SubmissionId,
    pub stage: RunStage,
    pub seat: SlotStanding,
    /// What the task is busy with while it keeps its slot.
    pub busy_with: Option<WaitingOn>,
    /// An open approval or question.
    pub asks: Option<WaitingOn>,
    /// Open waits.
    pub waits: BTreeSet<WaitId>,
    /// Answered waits, and what each delivers once it is taken.
    pub claims: BTreeMap<WaitId, Vec<MessageId>>,
    /// What is handed over as soon as the agent has its slot.
    pub due: Vec<DueReply>,
    pub replacement: ReplacementState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunStage {
    /// Asked for; the message stays in the inbox until the session has begun.
    Starting {
        message: MessageId,
    },
    Running,
}

/// How a task stands to the slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotStanding {
    /// The root needs none.
    Exempt,
    Held,
    /// Given back while the task is blocked.
    Given,
    /// Not blocked any more, in line for a slot.
    Returning,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DueReply {
    Answer { wait: WaitId, answer: WaitAnswer },
    Proceed,
}

/// Whether the task was told to make room for newer input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplacementState {
    None,
    Asked,
}

impl TaskRun {
    pub fn starting(task: SubmissionId, message: MessageId, seat: SlotStanding) -> Self {
        Self {
            stage: RunStage::Starting { message },
            ..Self::running(task, seat)
        }
    }

    pub fn running(task: SubmissionId, seat: SlotStanding) -> Self {
        Self {
            task,
            stage: RunStage::Running,
            seat,
            busy_with: None,
            asks: None,
            waits: BTreeSet::new(),
            claims: BTreeMap::new(),
            due: Vec::new(),
            replacement: ReplacementState::None,
        }
    }

    /// Tells whether only others can make the task go on.
    pub fn is_blocked(&self) -> bool {
        self.asks.is_some() || !self.waits.is_empty()
    }

    pub fn status(&self) -> CurrentStatus {
        let on = match self.stage {
            RunStage::Starting { .. } => return CurrentStatus::PendingInit,
            RunStage::Running if self.seat == SlotStanding::Returning => Some(WaitingOn::Slot),
            RunStage::Running if !self.waits.is_empty() => self.asks.or(Some(WaitingOn::Child)),
            RunStage::Running => self.asks.or(self.busy_with),
        };
        match on {
            Some(on) => CurrentStatus::Waiting { on },
            None => CurrentStatus::Running,
        }
    }

    /// Tells whether a wait of this task has promised the message already.
    pub fn has_claimed(&self, message: MessageId) -> bool {
        self.claims
            .values()
            .any(|messages| messages.contains(&message))
    }
}
