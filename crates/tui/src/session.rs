//! The connection to a session: what the screen needs of it, whoever provides it.
//!
//! [`SessionLink`] is the whole window, so that a session of this process and one that runs
//! elsewhere are driven in one way. What is asked of a tree beyond the operations of the protocol,
//! [`TreeRequest`] names: a link that cannot do it answers [`TreeNews::Refused`], and the screen
//! shows the sentence.

pub mod wire;

use async_trait::async_trait;
use troupe_client::ClientError;
use troupe_protocol::agent::AgentStatus;
use troupe_protocol::link::query::{MailCard, PromptCommand, RoleCard};
use troupe_protocol::link::{ClientRole, ServerNotice, Welcome};
use troupe_protocol::policy::{ReasoningEffort, SandboxMode, SandboxPolicy};
use troupe_protocol::result::TaskResult;
use troupe_protocol::{AgentId, Event, Op, SessionId, SubmissionId};

/// What arrives over a link.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkMessage {
    /// Of the session whose queue this is: the root's, and what it is told of its tree.
    Event(Box<Event>),
    /// Of the connection.
    Notice(Box<ServerNotice>),
    /// Of another agent of the tree, after [`TreeRequest::Follow`]: first what its log has,
    /// then what happens.
    AgentEvent { agent: AgentId, event: Box<Event> },
    /// The answer to a [`TreeRequest`], or news of the tree.
    Tree(Box<TreeNews>),
    /// The connection is lost, in words, and is tried to be made again. The welcome that
    /// follows says that it is back.
    Lost(String),
}

impl LinkMessage {
    /// Tells whether it is a piece of something that comes whole later.
    pub fn is_delta(&self) -> bool {
        match self {
            Self::Event(event) | Self::AgentEvent { event, .. } => event.msg.is_delta(),
            Self::Notice(_) | Self::Tree(_) | Self::Lost(_) => false,
        }
    }
}

/// A connection to a session.
#[async_trait]
pub trait SessionLink: Send {
    /// Returns how the server answered hello; `None` for a session of this process, which is
    /// driven by nobody else.
    fn welcome(&self) -> Option<Welcome>;

    /// Returns what happened next; `None` after the session has ended. Cancel-safe.
    async fn next(&mut self) -> Result<Option<LinkMessage>, ClientError>;

    /// Submits. May wait while too much is on the way.
    async fn submit(&mut self, id: SubmissionId, op: Op) -> Result<(), ClientError>;

    /// Asks for the seat (`Drive`), or gives it back (`Follow`).
    async fn take_role(&mut self, role: ClientRole) -> Result<(), ClientError>;

    /// Asks something of the tree. The answer comes as [`LinkMessage::Tree`].
    async fn ask(&mut self, request: TreeRequest) -> Result<(), ClientError>;
}

/// What the screen asks of a tree, beyond the operations of the protocol.
#[derive(Debug, Clone, PartialEq)]
pub enum TreeRequest {
    /// How every agent stands: answered with [`TreeNews::Agents`]. Also sent once a second
    /// while the agents view is shown and somebody works.
    Look,
    /// Tell the transcript of an agent from its beginning, and go on.
    Follow(AgentId),
    Unfollow(AgentId),
    Send {
        to: AgentId,
        text: String,
        urgency: MessageUrgency,
    },
    Spawn(Box<SpawnOrder>),
    /// What a stop would touch: answered with [`TreeNews::StopScope`].
    StopScope {
        agent: AgentId,
        verb: StopVerb,
    },
    Stop {
        agent: AgentId,
        verb: StopVerb,
    },
    /// Have a stopped agent go on.
    Resume(AgentId),
    /// The record of an agent's last task: answered with [`TreeNews::Result`].
    Result(AgentId),
    /// The agent's result was read, also by other screens.
    MarkRead(AgentId),
    /// What was sent to the agent: answered with [`TreeNews::Inbox`].
    Inbox(AgentId),
    /// What a child can be made from: answered with [`TreeNews::Roles`].
    Roles,
    /// What people typed here before, oldest first: answered with [`TreeNews::Prompts`].
    Prompts,
    /// Keep this prompt for later sessions.
    Remember(String),
    /// What can be called with `/name`, beside the screen's own commands: answered with
    /// [`TreeNews::Commands`].
    Commands,
    /// What a line `/name words` stands for: answered with [`TreeNews::CommandFilled`].
    FillCommand(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageUrgency {
    /// With its next request.
    Regular,
    /// In the place of its running task.
    Interrupt,
}

/// A child that the user makes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpawnOrder {
    pub task: String,
    pub role: Option<String>,
    pub name: Option<String>,
    pub model: Option<String>,
    pub effort: Option<ReasoningEffort>,
    pub sandbox: Option<SandboxMode>,
    pub directory: Option<std::path::PathBuf>,
    /// It knows this conversation, and nobody else is told of its end.
    pub is_aside: bool,
}

/// Returns the words for what a sandbox lets somebody do.
pub fn sandbox_words(policy: &SandboxPolicy) -> &'static str {
    match policy {
        SandboxPolicy::DangerFullAccess => "full access",
        SandboxPolicy::ReadOnly { .. } => "read-only",
        SandboxPolicy::WorkspaceWrite { .. } => "workspace-write",
    }
}

/// The ways to stop. To stop waiting needs none: it is to leave the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopVerb {
    /// End the running task of this one agent.
    Interrupt,
    /// End the tasks of the agent and of everybody below it.
    Cancel,
    /// Cancel, and take no more messages until it is resumed.
    Close,
    /// Let the agent go on without its parent.
    Release,
}

impl StopVerb {
    pub const ALL: [Self; 4] = [Self::Interrupt, Self::Cancel, Self::Close, Self::Release];

    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "interrupt",
            Self::Cancel => "cancel",
            Self::Close => "close",
            Self::Release => "release",
        }
    }

    /// Says what it does, for the dialog.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Interrupt => "ends this task of this one agent",
            Self::Cancel => "ends the tasks of the agent and of everybody below it",
            Self::Close => "cancels, and takes no messages until it is resumed",
            Self::Release => "lets it go on without its parent",
        }
    }
}

/// What a link tells of the tree.
#[derive(Debug, Clone, PartialEq)]
pub enum TreeNews {
    Agents(Vec<AgentReport>),
    StopScope {
        agent: AgentId,
        verb: StopVerb,
        /// Whom it ends, in the order in which they are shown.
        touched: Vec<AgentId>,
        /// Whom it leaves, and why.
        skipped: Vec<(AgentId, String)>,
    },
    Result {
        agent: AgentId,
        result: Box<TaskResult>,
    },
    /// The agent has no result, and why.
    NoResult {
        agent: AgentId,
        why: String,
    },
    Inbox {
        agent: AgentId,
        messages: Vec<MailCard>,
    },
    Roles(Vec<RoleCard>),
    Prompts(Vec<String>),
    Commands(Vec<PromptCommand>),
    CommandFilled {
        line: String,
        /// The prompt; none if nothing has the name.
        text: Option<String>,
        notes: Vec<String>,
    },
    /// A child was made, in words.
    Spawned {
        agent: AgentId,
        is_aside: bool,
        text: String,
    },
    /// Done, and nobody needs to hear of it.
    Kept,
    /// Done, in words: `tester: queued, 2 before it`.
    Done(String),
    /// Not done, and why.
    Refused(String),
}

/// How one agent stands: more than `subagent_lifecycle` tells. What is absent is not known.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentReport {
    pub agent: AgentId,
    pub session: SessionId,
    pub parent: Option<AgentId>,
    pub path: String,
    pub status: AgentStatus,
    /// What it waits on, which tools run, why it was interrupted.
    pub detail: Option<String>,
    pub since_ms: i64,
    /// When it last did something.
    pub progress_ms: Option<i64>,
    pub born_ms: i64,
    pub role: Option<String>,
    pub model: Option<String>,
    /// What it may do to the machine, and why no more.
    pub rights: Option<String>,
    pub effort: Option<ReasoningEffort>,
    pub directory: Option<String>,
    pub task: Option<String>,
    pub note: Option<String>,
    pub tokens: u64,
    pub tree_tokens: u64,
    pub pending_messages: u32,
    /// Its result was not read yet.
    pub unread: bool,
}
