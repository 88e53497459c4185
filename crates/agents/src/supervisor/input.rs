//! Everything that can happen to a supervisor.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use troupe_engine::{Fate, Lines, NotNow, NotTaken, Opened, Word};
use troupe_protocol::approval::{ExecApprovalRequest, ReviewDecision};
use troupe_protocol::op::ReviewRequest;
use troupe_protocol::result::TaskResult;
use troupe_protocol::tree::{AgentMessage, Caller, MessageId};
use troupe_protocol::{AgentId, CallId, PendingQuestion, SubmissionId};
use troupe_tools::Claim;

use crate::desk::{
    AgentView, NoteSet, Scope, Sent, SpawnRequest, Spawned, StopRequest, Stopped, Targets, Trouble,
    Waited, WatchdogRequest, Watched,
};
use crate::roles::Role;
use crate::supervisor::arrivals::Arrivals;
use crate::supervisor::member::OpenSession;
use crate::supervisor::steps::Ticket;
use crate::tree::command::{Spawner, Until, Urgency};
use crate::tree::effect::WaitEnd;
use crate::tree::id::WaitId;

/// Every sender waits for its answer before it sends again, or is told of by one that does;
/// so the queue is no longer than there are calls and sessions.
#[derive(Debug)]
pub(crate) enum Input {
    Request(Request),
    Report(SessionReport),
    /// What became of lines that somebody was given to write.
    Written {
        ticket: Ticket,
        fate: Fate,
    },
    Opened {
        agent: AgentId,
        opened: Opened,
    },
    Loaded {
        agent: AgentId,
        outcome: Result<OpenSession, String>,
    },
    /// The session of this agent has ended and its log is free.
    Unloaded {
        agent: AgentId,
    },
    WaitOver {
        wait: WaitId,
        why: WaitEnd,
    },
    WatchdogDue,
    Sweep,
    /// The root has another configuration.
    Reconfigured,
    /// The tree is to end; the answer comes when every session has.
    Close {
        done: oneshot::Sender<()>,
    },
    RootGone,
}

/// What a session tells, through its host.
#[derive(Debug)]
pub(crate) enum SessionReport {
    Starting {
        agent: AgentId,
        task: SubmissionId,
        /// The message of the inbox that it begins with; none for a direct input.
        message: Option<MessageId>,
        reply: oneshot::Sender<Result<Lines, NotNow>>,
    },
    Taking {
        agent: AgentId,
        messages: Vec<MessageId>,
        reply: oneshot::Sender<Result<Lines, NotNow>>,
    },
    Claiming {
        agent: AgentId,
        claims: Vec<Claim>,
        reply: oneshot::Sender<Lines>,
    },
    Ending {
        agent: AgentId,
        result: Box<TaskResult>,
        reply: oneshot::Sender<Lines>,
    },
    Asking {
        agent: AgentId,
        call_id: CallId,
        question: Box<PendingQuestion>,
    },
    Answered {
        agent: AgentId,
        call_id: CallId,
        word: Word,
    },
    /// The same was answered elsewhere.
    Settled {
        agent: AgentId,
        call_id: CallId,
        word: Word,
    },
    Deciding {
        agent: AgentId,
        id: String,
        word: Word,
        reply: oneshot::Sender<Result<(), NotTaken>>,
    },
    Reviewing {
        agent: AgentId,
        submission: SubmissionId,
        request: ReviewRequest,
        role: Arc<Role>,
        reply: oneshot::Sender<Result<(), String>>,
    },
    /// A session is about to forget whom it has set to work.
    Standing {
        agent: AgentId,
        reply: oneshot::Sender<Option<String>>,
    },
    /// It was to be called or annotated so, and could not record it.
    Unrecorded {
        agent: AgentId,
        what: &'static str,
        why: String,
    },
    Reasoning {
        agent: AgentId,
        header: String,
    },
    /// No client watches the root any more.
    Unattended,
}

/// What is waited for, and for how long.
#[derive(Debug)]
pub(crate) struct Wait {
    pub on: Targets,
    pub until: Until,
    pub time: Duration,
    pub stop: CancellationToken,
}

type Reply<T> = oneshot::Sender<Result<T, Trouble>>;

/// A request of a tree access handle.
#[derive(Debug)]
pub(crate) enum Request {
    Spawn {
        by: Spawner,
        request: Box<SpawnRequest>,
        role: Arc<Role>,
        reply: Reply<Spawned>,
    },
    Send {
        caller: Caller,
        to: String,
        message: AgentMessage,
        urgency: Urgency,
        reply: Reply<Sent>,
    },
    Wait {
        caller: Caller,
        wait: Wait,
        reply: Reply<Waited>,
    },
    Stop {
        caller: Caller,
        request: StopRequest,
        reply: Reply<Stopped>,
    },
    Resume {
        caller: Caller,
        target: String,
        reply: Reply<AgentView>,
    },
    View {
        caller: Caller,
        target: String,
        reply: Reply<AgentView>,
    },
    List {
        caller: Caller,
        scope: Scope,
        closed: bool,
        reply: Reply<Vec<AgentView>>,
    },
    SetNote {
        caller: Caller,
        target: String,
        note: String,
        reply: Reply<NoteSet>,
    },
    SetName {
        caller: Caller,
        target: String,
        name: String,
        reply: Reply<()>,
    },
    Watchdog {
        caller: Caller,
        target: String,
        request: WatchdogRequest,
        reply: Reply<Watched>,
    },
    AskParent {
        agent: AgentId,
        request: Box<ExecApprovalRequest>,
        reply: oneshot::Sender<Option<ReviewDecision>>,
    },
    Answer {
        agent: AgentId,
        call: CallId,
        decision: ReviewDecision,
        reply: oneshot::Sender<Result<AgentView, Trouble>>,
    },
    /// Asks to be told of children whose sessions come into memory.
    Listen { reply: oneshot::Sender<Arrivals> },
    /// Answered when nothing runs and nothing is about to.
    Quiet { reply: oneshot::Sender<()> },
}
