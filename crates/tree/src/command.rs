//! Everything that can happen to a tree.

use troupe_protocol::tree::{
    AgentMetadata, CallbackMode, Caller, Genealogy, MailSender, MessageId, ParentLink, TimeMs,
};
use troupe_protocol::{AgentId, SessionId, StopVerb, SubmissionId, TaskOutcome};

use crate::WaitId;
use troupe_protocol::agent::WaitingOn;

/// One happening and its moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeCommand {
    pub at: TimeMs,
    pub what: TreeAction,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeAction {
    Spawn(SpawnCommand),
    Send(SendCommand),
    /// An agent, or the user, waits for one of these agents to end.
    Wait {
        by: Caller,
        on: AwaitedAgents,
        until: WaitCondition,
    },
    /// A wait's time is up.
    TimeOut {
        wait: WaitId,
    },
    /// The wait ends; the children go on.
    StopWaiting {
        wait: WaitId,
    },
    Stop(StopCommand),
    /// Brings a closed or pruned agent back; an active one stays as it is.
    Resume {
        by: Caller,
        agent: AgentId,
    },
    /// A session tells of itself. Nothing else changes the status of a task in flight.
    Report {
        agent: AgentId,
        report: TaskReport,
    },
    /// The process ends: every task is interrupted, to be continued later.
    Suspend,
    /// The process has come back: what ran is interrupted, what waited goes on.
    Recover,
    /// The root was configured anew: every task below it ends, and calls nobody back.
    Reconfigure,
    /// Drives again what a lost hint may have left lying.
    Sweep,
    /// Keeps something in the log of whoever asked for it.
    Keep {
        by: Caller,
        keepsake: AgentMetadata,
    },
    /// Changes whether and how often an agent's caller is called back.
    Rebind {
        agent: AgentId,
        callback: CallbackMode,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnCommand {
    pub by: SpawnCaller,
    pub session: SessionId,
    /// The wish; the path in the answer is what became of it.
    pub name: String,
    pub genealogy: Genealogy,
    pub bond: ParentLink,
    /// What it begins with; without one it waits to be told.
    pub message: Option<MessageId>,
}

/// The caller that asks for a child, and the parent that the child gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpawnCaller {
    /// An agent that is in a task, below itself.
    Agent(AgentId),
    /// The user, below anybody.
    User { below: AgentId },
}

impl SpawnCaller {
    pub fn parent(self) -> AgentId {
        match self {
            Self::Agent(agent) | Self::User { below: agent } => agent,
        }
    }

    pub fn caller(self) -> Caller {
        match self {
            Self::Agent(agent) => Caller::Agent(agent),
            Self::User { .. } => Caller::User,
        }
    }
}

/// Who does not say it spawns below its own place: the user below the root.
impl From<Caller> for SpawnCaller {
    fn from(caller: Caller) -> Self {
        match caller {
            Caller::User => Self::User {
                below: AgentId::ROOT,
            },
            Caller::Agent(agent) => Self::Agent(agent),
        }
    }
}

/// A message without its contents. Sent again while it waits, it is the same message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendCommand {
    pub from: MailSender,
    pub to: AgentId,
    pub message: MessageId,
    pub urgency: SendUrgency,
    pub form: MessageForm,
}

/// How a message can be brought to its recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageForm {
    /// Also within the answer of a wait.
    Words,
    /// It has pictures or the like, which only a message of its own can bring.
    Parts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendUrgency {
    /// Takes the place of the running task.
    Interrupt,
    Regular,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AwaitedAgents {
    Agents(Vec<AgentId>),
    /// Whichever child of the caller has, or will have, something to tell first.
    AnyChild,
}

/// What is worth the end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitCondition {
    End,
    /// One of those that are waited for has ended, or writes to the waiter.
    EndOrMail,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopCommand {
    pub by: Caller,
    pub verb: StopVerb,
    pub targets: Vec<AgentId>,
    pub mode: StopMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopMode {
    Act,
    /// Only tells what would be touched.
    DryRun,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskReport {
    /// A task began: the one that was asked for, with its message, or at the root a direct
    /// input.
    Started {
        task: SubmissionId,
        message: Option<MessageId>,
    },
    /// Messages went into the request of the running task.
    Took { messages: Vec<MessageId> },
    /// The task is blocked on this, or works with it.
    Waiting { on: WaitingOn },
    /// The approval or the user's answer is there. The task goes on at `Effect::Proceed`.
    Unblocked,
    /// The answer of a wait stands in the waiter's log.
    WaitTaken { wait: WaitId },
    /// The task is over, its processes are gone.
    Ended {
        task: SubmissionId,
        /// As the session saw it.
        outcome: TaskOutcome,
    },
}
