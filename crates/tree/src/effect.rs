//! Everything that a tree makes happen. The supervisor performs effects in their order;
//! each is safe to repeat.

use troupe_protocol::tree::{MessageId, TimeMs, TreeRecord};
use troupe_protocol::{AgentId, StopVerb, SubmissionId, TaskOutcome};

use crate::WaitId;
use crate::status::CurrentStatus;
use troupe_protocol::agent::{PendingMail, WaitingOn};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeEffect {
    /// Append to the log of `record.log`, on disk before the next effect.
    Persist(TreeRecord),
    /// Bring the session into memory: new, or from its rollout.
    Load {
        agent: AgentId,
    },
    Unload {
        agent: AgentId,
    },
    /// Begin a task with this message. Answered by `Report::Started`, or by
    /// `Report::Ended` if it cannot. One that was asked for before and has not begun is not
    /// wanted any more: its report is refused.
    StartTask {
        agent: AgentId,
        task: SubmissionId,
        message: MessageId,
        /// Older messages that are told before it.
        ahead: Vec<MessageId>,
    },
    /// End the task and its processes. Answered by `Report::Ended`.
    AbortTask {
        agent: AgentId,
        task: SubmissionId,
        /// How the task is to end.
        why: TaskOutcome,
    },
    /// Look into the inbox at the next model request.
    Poke {
        agent: AgentId,
    },
    /// Go on after an approval or a user's answer: the slot is there.
    Proceed {
        agent: AgentId,
    },
    AnswerWait {
        wait: WaitId,
        answer: WaitAnswer,
    },
    /// End the session for good, if it is in memory.
    Shut {
        agent: AgentId,
    },
    Emit(TreeNotice),
    /// What the caller of the command is told.
    Answer(CommandReply),
}

/// What the UI hears of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeNotice {
    /// `subagent_lifecycle`, created.
    Created { agent: AgentId },
    /// `subagent_lifecycle`, status; with it `background_event`, final or not by the
    /// status.
    Status {
        agent: AgentId,
        status: CurrentStatus,
        stint: TaskSpan,
    },
    /// A closed or pruned agent is back, as it stood before. `subagent_lifecycle`, status;
    /// nothing has ended, so no `background_event`.
    Reopened {
        agent: AgentId,
        status: CurrentStatus,
    },
    /// `background_event`: an interrupted task took these children along.
    ChildrenCancelled {
        parent: AgentId,
        children: Vec<AgentId>,
    },
    /// `subagent_lifecycle`, deleted.
    Deleted { agent: AgentId },
    /// `agent_inbox`.
    Inbox { agent: AgentId, depth: PendingMail },
}

/// The task that a status is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskSpan {
    /// When it began; the birth for a first one that did not begin yet.
    pub since: TimeMs,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandReply {
    Spawned {
        agent: AgentId,
        path: String,
        status: CurrentStatus,
    },
    Receipt(DeliveryReceipt),
    /// The wait is open; `AnswerWait` follows, now or later.
    Waiting {
        wait: WaitId,
    },
    Plan(StopPlan),
    Resumed {
        agent: AgentId,
        status: CurrentStatus,
    },
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryReceipt {
    /// It starts a task now.
    Delivered,
    /// It will be taken; 1 is next.
    Queued { position: usize },
    /// It is in the inbox, and nothing is taken from there at present.
    Held { why: HoldReason },
    /// It was not put in the inbox.
    Dead { why: UndeliverableReason },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HoldReason {
    /// The running task cannot look until this is over.
    Waiting(WaitingOn),
    /// The running task is being interrupted.
    Stopping,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndeliverableReason {
    /// `resume_agent` brings it back.
    Closed,
    /// Only its result is left.
    Pruned,
    /// Its log is gone.
    Lost,
    Stopping,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitAnswer {
    pub end: WaitEnd,
    /// Who had reached a final status at that moment, in the order of the request; of any
    /// child the ends that were news, in their order.
    pub finals: Vec<FinalReport>,
    /// Messages that this answer delivers; consumed by `Report::WaitTaken`.
    pub mail: Vec<MessageId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitEnd {
    Final,
    /// Somebody who was waited for has written.
    Mail,
    /// No child is at work any more, and others told what there was.
    Exhausted,
    TimedOut,
    Stopped,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinalReport {
    pub agent: AgentId,
    pub status: CurrentStatus,
    /// The ended task, whose result record has the text.
    pub task: Option<SubmissionId>,
    /// The news that this answer delivers, with their callbacks; consumed by
    /// `Report::WaitTaken`.
    pub delivers: Vec<MessageId>,
}

/// What a stop touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopPlan {
    pub verb: StopVerb,
    pub touched: Vec<PlannedStop>,
    pub skipped: Vec<SkippedStop>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedStop {
    pub agent: AgentId,
    pub action: StopVerb,
    /// The agent whose subtree is meant.
    pub scope: AgentId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkippedStop {
    pub agent: AgentId,
    pub why: StopSkipReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSkipReason {
    /// Nothing runs, and nothing is about to.
    Idle,
    /// It, or an agent below it, is not finished.
    Active,
    AlreadyDone,
    Unknown,
}
