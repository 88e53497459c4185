//! Everything that can happen to a supervisor.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use troupe_engine::{
    AnswerRefusal, InquiryAnswer, OpenedSession, StaleRequest, WriteBatch, WriteOutcome,
};
use troupe_protocol::approval::{ExecApprovalRequest, ReviewDecision};
use troupe_protocol::op::ReviewRequest;
use troupe_protocol::result::TaskResult;
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::tree::{AgentMessage, Caller, MessageId};
use troupe_protocol::{AgentId, CallId, PendingQuestion, SubmissionId};
use troupe_tools::DeliveryClaim;
use troupe_tree::WaitId;
use troupe_tree::command::{SendUrgency, SpawnCaller, WaitCondition};
use troupe_tree::effect::WaitEnd;

use crate::roles::AgentRole;
use crate::supervisor::arrivals::ChildArrivals;
use crate::supervisor::member::OpenSession;
use crate::supervisor::step_queue::WriteTicket;
use crate::tree_access::{
    AgentScope, AgentView, NoteSet, SendOutcome, SpawnRequest, SpawnedAgent, StopOutcome,
    TreeError, TreeStopRequest, WaitReport, WaitTargets, WatchdogOutcome, WatchdogRequest,
};

/// Every sender waits for its answer before it sends again, or is told of by one that does;
/// so the queue is no longer than there are calls and sessions.
#[derive(Debug)]
pub(crate) enum SupervisorInput {
    Request(TreeRequest),
    Report(SessionReport),
    /// What became of lines that somebody was given to write.
    Written {
        ticket: WriteTicket,
        fate: WriteOutcome,
    },
    Opened {
        agent: AgentId,
        opened: OpenedSession,
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
        reply: oneshot::Sender<Result<WriteBatch, StaleRequest>>,
    },
    Taking {
        agent: AgentId,
        messages: Vec<MessageId>,
        reply: oneshot::Sender<Result<WriteBatch, StaleRequest>>,
    },
    Claiming {
        agent: AgentId,
        claims: Vec<DeliveryClaim>,
        reply: oneshot::Sender<WriteBatch>,
    },
    Ending {
        agent: AgentId,
        result: Box<TaskResult>,
        reply: oneshot::Sender<WriteBatch>,
    },
    Asking {
        agent: AgentId,
        call_id: CallId,
        question: Box<PendingQuestion>,
    },
    Answered {
        agent: AgentId,
        call_id: CallId,
        word: InquiryAnswer,
    },
    /// The same was answered elsewhere.
    Settled {
        agent: AgentId,
        call_id: CallId,
        word: InquiryAnswer,
    },
    Deciding {
        agent: AgentId,
        id: String,
        word: InquiryAnswer,
        reply: oneshot::Sender<Result<(), AnswerRefusal>>,
    },
    Reviewing {
        agent: AgentId,
        submission: SubmissionId,
        request: ReviewRequest,
        role: Arc<AgentRole>,
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
    /// A hook refused something that it wanted to do, or failed.
    HookWarned {
        agent: AgentId,
        message: String,
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
pub(crate) struct WaitRequest {
    pub on: WaitTargets,
    pub until: WaitCondition,
    pub time: Duration,
    pub stop: CancellationToken,
}

type Reply<T> = oneshot::Sender<Result<T, TreeError>>;

/// A request of a tree access handle.
#[derive(Debug)]
pub(crate) enum TreeRequest {
    Spawn {
        by: SpawnCaller,
        request: Box<SpawnRequest>,
        role: Arc<AgentRole>,
        reply: Reply<SpawnedAgent>,
    },
    Send {
        caller: Caller,
        to: String,
        message: AgentMessage,
        urgency: SendUrgency,
        reply: Reply<SendOutcome>,
    },
    Wait {
        caller: Caller,
        wait: WaitRequest,
        reply: Reply<WaitReport>,
    },
    Stop {
        caller: Caller,
        request: TreeStopRequest,
        reply: Reply<StopOutcome>,
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
        scope: AgentScope,
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
    /// How the root is told of its children, from now on.
    SetCallback {
        config: CallbackConfig,
        reply: Reply<()>,
    },
    Watchdog {
        caller: Caller,
        target: String,
        request: WatchdogRequest,
        reply: Reply<WatchdogOutcome>,
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
        reply: oneshot::Sender<Result<AgentView, TreeError>>,
    },
    /// Asks to be told of children whose sessions come into memory.
    Listen {
        reply: oneshot::Sender<ChildArrivals>,
    },
    /// Answered when nothing runs and nothing is about to.
    Quiet { reply: oneshot::Sender<()> },
}
