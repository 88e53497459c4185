//! The tree that a session is a member of, as the session sees it.
//!
//! A session tells its host what is about to happen to a task, and gets the lines that
//! belong in the same append: a task and its place in the tree are never on disk one without
//! the other. In the other direction the tree gives [`SessionOrder`]s.
//!
//! A session may wait for its host. A host never waits for a session, so the two cannot
//! wait for each other.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use async_trait::async_trait;
use serde_json::Value;
use troupe_protocol::event::{AbortReason, EventMsg};
use troupe_protocol::op::ReviewRequest;
use troupe_protocol::policy::SandboxPolicy;
use troupe_protocol::result::TaskResult;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::session::TurnContext;
use troupe_protocol::tree::{AgentMessage, MessageId};
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{CallId, Op, PendingQuestion, ResponseItem, SessionId, SubmissionId};
use troupe_tools::DeliveryClaim;

use crate::context;
use crate::inquiry::{AnswerRefusal, InquiryAnswer};
use crate::mailbox::OrderSender;

#[async_trait]
pub trait SessionHost: Send + Sync + fmt::Debug {
    /// The session is open, or open again with other settings.
    fn opened(&self, opened: OpenedSession);

    /// Tells whether there is a tree to be told of tasks. Without one, results are not made.
    fn has_tree(&self) -> bool;

    /// A task is about to begin, with a message of the inbox or with a direct input. Items
    /// among the lines are told to the model before it.
    async fn starting(
        &self,
        task: &SubmissionId,
        message: Option<MessageId>,
    ) -> Result<WriteBatch, StaleRequest>;

    /// Messages are about to join the running task.
    async fn taking(&self, messages: &[MessageId]) -> Result<WriteBatch, StaleRequest>;

    /// Answers that carry claims are about to go into the history.
    async fn claiming(&self, claims: Vec<DeliveryClaim>) -> WriteBatch;

    /// The task is about to end. Its processes are gone.
    async fn ending(&self, result: TaskResult) -> WriteBatch;

    /// A call asks for a person's word, and waits for it.
    fn question_asked(&self, call_id: &CallId, question: &PendingQuestion);

    /// The question of a call has its answer, or was withdrawn.
    fn question_answered(&self, call_id: &CallId, word: &InquiryAnswer);

    /// The question of a call was settled by the answer to the same one elsewhere. Returns
    /// whether the tree gives the word, when the agent may go on.
    fn question_settled(&self, _call_id: &CallId, _word: &InquiryAnswer) -> bool {
        false
    }

    /// A client answers a question that is not this session's own. It is taken if another
    /// agent of the tree asks it.
    async fn decide(&self, id: &str, word: InquiryAnswer) -> Result<(), AnswerRefusal>;

    /// A client asks for a review. Returns why there will be none.
    async fn review(&self, id: &SubmissionId, request: ReviewRequest) -> Result<(), String>;

    /// The model's reasoning has a new headline.
    fn reasoning(&self, header: &str);

    /// The session was told by its tree to be called or annotated so, and could not record it.
    fn unrecorded(&self, _what: &'static str, _why: String) {}

    /// A hook of the user's refused something that the session wanted to do, or failed.
    fn hook_warned(&self, _message: &str) {}

    /// The running task has these settings; without one, the next task has them.
    fn settings(&self, _context: &TurnContext) {}

    /// Returns what the agents above leave of the rights in these settings at this moment; none
    /// if nobody is above.
    fn rights(&self, _context: &TurnContext) -> Option<MemberRights> {
        None
    }

    /// Where the session shows what it is doing.
    fn activity_handle(&self) -> &ActivityHandle;

    /// Returns how the agents below the session stand, in words for a model that is about to
    /// forget how it made them; none if there are none.
    async fn describe_subtree(&self) -> Option<String> {
        None
    }

    /// No client is left that could answer a question.
    fn unattended(&self) {}

    /// Returns a future that resolves when the subtree below the session is idle; none if it is
    /// idle already.
    fn subtree_idle(&self) -> Option<Completion> {
        None
    }

    /// The session is about to end. Returns a future that resolves when everything below it has
    /// ended; none if there is nothing. Orders are taken until then.
    fn close_subtree(&self) -> Option<Completion> {
        None
    }
}

/// What the agents above the source of a fork leave to it when the fork is made. The fork is
/// below nobody, so it begins with no more than that.
pub trait ForkRights: Send + Sync + fmt::Debug {
    /// Returns what is left of the rights in the settings that the fork was handed.
    fn left_to(&self, context: &TurnContext) -> SandboxPolicy;
}

/// What a member of a tree may do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRights {
    pub sandbox_policy: SandboxPolicy,
    /// Why nothing leaves that sandbox, whoever agrees.
    pub held: Option<Arc<str>>,
}

/// Resolves when the awaited work has finished.
pub type Completion = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A session as its host gets to know it.
#[derive(Debug)]
pub struct OpenedSession {
    pub session: SessionId,
    pub orders: OrderSender,
    /// Whose history it began with.
    pub forked_from: Option<SessionId>,
    /// Its log has lines of a tree, or its history was forked from one that has.
    pub has_agents: bool,
    pub context: TurnContext,
    pub thread_note: Option<String>,
}

/// The tree does not want this any more: the message is gone, or the task was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StaleRequest;

/// Lines that must be written together with what the session writes next.
#[derive(Debug, Default)]
pub struct WriteBatch {
    pub records: Vec<RolloutRecord>,
    pub receipt: Option<WriteAck>,
}

impl WriteBatch {
    /// Has the model told something of the agents that it made, beside what its task begins
    /// with.
    pub fn tell(&mut self, news: &str) {
        let told = ResponseItem::user_text(context::agents(news));
        self.records.push(RolloutRecord::ResponseItem(told));
    }

    /// Puts later lines behind these.
    pub fn append(&mut self, later: Self) {
        self.records.extend(later.records);
        self.receipt = match (self.receipt.take(), later.receipt) {
            (Some(ours), Some(theirs)) => Some(ours.and(theirs)),
            (ours, theirs) => ours.or(theirs),
        };
    }
}

/// Lines on their way to a session, in its mailbox. Until the session has taken them, its host can put
/// later ones behind them, or take them back and hand them over with those: so a log has
/// them in the tree's order, even if the session asks for lines before it comes to what it
/// was sent, and what piles up in front of a busy session is written in one piece.
#[derive(Debug)]
pub struct PendingWrite(Arc<Mutex<Option<WriteBatch>>>);

/// The sender's weak reference to a pending write: lines that a session drops
/// are lost, and their receipt says so.
#[derive(Debug)]
pub struct PendingWriteRef(Weak<Mutex<Option<WriteBatch>>>);

impl PendingWrite {
    pub fn new(lines: WriteBatch) -> Self {
        Self(Arc::new(Mutex::new(Some(lines))))
    }

    pub fn tracking(&self) -> PendingWriteRef {
        PendingWriteRef(Arc::downgrade(&self.0))
    }

    /// Takes the lines out, unless the sender did.
    pub fn take(&self) -> Option<WriteBatch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl PendingWriteRef {
    /// Adds later lines to the pending write. Returns them if it was taken, or is lost.
    pub fn add(&self, later: WriteBatch) -> Result<(), WriteBatch> {
        let Some(parcel) = self.0.upgrade() else {
            return Err(later);
        };
        let mut lines = parcel.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *lines {
            Some(lines) => {
                lines.append(later);
                Ok(())
            }
            None => Err(later),
        }
    }

    /// Tells whether the session has not taken it yet, and still may.
    pub fn is_closed(&self) -> bool {
        let parcel = self.0.upgrade();
        parcel.is_some_and(|parcel| {
            parcel
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_some()
        })
    }

    /// Takes the lines out, unless the session did.
    pub fn take_back(&self) -> Option<WriteBatch> {
        PendingWrite(self.0.upgrade()?).take()
    }
}

/// Acknowledges lines to the host: written or lost. Dropped unused, it says that they were not
/// written.
pub struct WriteAck(Vec<Box<dyn FnOnce(WriteOutcome) + Send>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    Written,
    Lost,
}

impl WriteAck {
    pub fn new(tell: impl FnOnce(WriteOutcome) + Send + 'static) -> Self {
        Self(vec![Box::new(tell)])
    }

    /// One acknowledgement for the lines of both.
    #[must_use]
    pub fn and(mut self, mut other: Self) -> Self {
        self.0.append(&mut other.0);
        self
    }

    /// Acknowledges the lines, if the sender asked for it.
    pub(crate) fn tell_written(receipt: Option<Self>) {
        if let Some(receipt) = receipt {
            receipt.written();
        }
    }

    pub fn written(mut self) {
        self.tell(WriteOutcome::Written);
    }

    fn tell(&mut self, fate: WriteOutcome) {
        for tell in self.0.drain(..) {
            tell(fate);
        }
    }
}

impl Drop for WriteAck {
    fn drop(&mut self) {
        self.tell(WriteOutcome::Lost);
    }
}

impl fmt::Debug for WriteAck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receipt")
    }
}

/// What the tree asks of a session. Orders are taken in the order in which they were given.
#[derive(Debug)]
pub enum SessionOrder {
    /// Begin a task with a message of the inbox. Ignored while a task runs.
    Start {
        task: SubmissionId,
        message: MessageId,
        mail: AgentMessage,
        /// Older messages of the inbox that the model is told before it.
        ahead: Vec<(MessageId, AgentMessage)>,
        /// The answer must fit it.
        output_schema: Option<Value>,
    },
    /// These messages wait; the running task takes them at its next request. Ones that it
    /// has heard of already are ignored.
    Mail(Vec<(MessageId, AgentMessage)>),
    /// End this task. Ignored if another one runs. If none does, the session says that it is
    /// over, for a tree that takes it for one that runs.
    Abort {
        task: SubmissionId,
        reason: AbortReason,
        by: StopRequester,
    },
    /// Write lines. Their receipt says that they are on disk.
    Write(PendingWrite),
    /// Record events and tell them, under the submission that they answer; under the running
    /// task if there is none.
    Record {
        submission: Option<SubmissionId>,
        events: Vec<EventMsg>,
    },
    /// Tell an event that is not kept.
    Tell(EventMsg),
    /// Take what a person said to one of its calls. Ignored if the call no longer asks.
    Answer {
        call_id: CallId,
        word: InquiryAnswer,
    },
    /// Do what a client would ask for with this submission.
    Operate { submission: SubmissionId, op: Op },
}

impl SessionOrder {
    /// Returns the task that the order would begin; the id of none if it would not.
    pub(crate) fn task(&self) -> SubmissionId {
        match self {
            Self::Start { task, .. } => task.clone(),
            Self::Mail(_)
            | Self::Abort { .. }
            | Self::Write(_)
            | Self::Record { .. }
            | Self::Tell(_)
            | Self::Answer { .. }
            | Self::Operate { .. } => SubmissionId::default(),
        }
    }
}

/// The requester of a stop, as the stopped model is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StopRequester {
    pub who: StopAuthor,
    /// Why, in their words.
    pub note: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum StopAuthor {
    #[default]
    User,
    /// Another agent, by its path.
    Agent(String),
}

/// The present activity of a session. Clones show the same session.
#[derive(Debug, Clone, Default)]
pub struct ActivityHandle(Arc<Mutex<SessionActivity>>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionActivity {
    pub doing: ActivityKind,
    /// When it last got on, in Unix milliseconds.
    pub progress_at_ms: i64,
    /// Tokens of the whole session.
    pub usage: TokenUsage,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ActivityKind {
    #[default]
    Idle,
    Model,
    /// The names of the tools.
    Tools(Vec<String>),
    Compacting,
}

impl ActivityHandle {
    pub fn read(&self) -> SessionActivity {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub fn write(&self, change: impl FnOnce(&mut SessionActivity)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
