//! What is kept of an agent tree: facts, each a line in the log of one agent.
//!
//! A fact stands in the log of who did it, or of the agent to whose status it belongs. All
//! logs of a tree, their facts sorted by `order`, fold to the tree as it was.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::agent::AgentOrigin;
use crate::id::{AgentId, SessionId, SubmissionId};
use crate::input::UserInput;
use crate::result::TaskResult;
use crate::spawn::{CallbackConfig, SpawnSpec};

/// One line: a fact, the tree it belongs to, and what the fact itself only names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentLine {
    /// The session of the tree's root. A session that is resumed by itself is the root of a
    /// tree of its own, and skips the lines of the other.
    pub tree: SessionId,
    #[serde(flatten)]
    pub record: TreeRecord,
    /// With `born`: how the child was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<Box<SpawnSpec>>,
    /// With `born`, `sent`, and an `ended` that calls back: what the message says. Facts
    /// have a `message` of their own beside it.
    #[serde(rename = "mail", default, skip_serializing_if = "Option::is_none")]
    pub message: Option<Box<AgentMessage>>,
    /// With `ended`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<TaskResult>>,
}

/// What one agent, the user or the engine says to an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentMessage {
    pub items: Vec<UserInput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MessageMetadata>,
    /// The client's own name for the message, which its item repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
}

impl AgentMessage {
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            items: vec![UserInput::text(text)],
            metadata: None,
            client_id: None,
        }
    }

    /// Returns what it says, if that is all in words.
    pub fn plain_text(&self) -> Option<String> {
        let texts: Option<Vec<&str>> = self
            .items
            .iter()
            .map(|item| match item {
                UserInput::Text { text, .. } => Some(text.as_str()),
                UserInput::Image { .. }
                | UserInput::LocalImage { .. }
                | UserInput::Skill { .. }
                | UserInput::Mention { .. } => None,
            })
            .collect();
        Some(texts?.join("\n"))
    }
}

/// Marks a message that the engine wrote for a child that ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct MessageMetadata {
    pub is_callback: bool,
    /// Always `troupe`.
    pub source: String,
    pub child_session_id: SessionId,
    pub child_task_id: SubmissionId,
}

impl MessageMetadata {
    pub fn callback(child: SessionId, task: SubmissionId) -> Self {
        Self {
            is_callback: true,
            source: "troupe".to_owned(),
            child_session_id: child,
            child_task_id: task,
        }
    }
}

/// A fact with its place in the order of all facts of the tree. Lines of several logs are
/// sorted by it before they are folded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(test, schemars(rename = "Record"), ts(rename = "Record"))]
pub struct TreeRecord {
    pub order: u64,
    pub at: TimeMs,
    /// The agent in whose log it stands: who did it, or to whose status it belongs.
    pub log: AgentId,
    #[serde(flatten)]
    pub fact: TreeFact,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(test, schemars(rename = "Fact"), ts(rename = "Fact"))]
pub enum TreeFact {
    /// The tree begins.
    Rooted {
        session: SessionId,
        /// For a fork of a conversation that names agents: the highest number among them. They
        /// are not in this tree, and no agent of this tree is called like one of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        above: Option<AgentId>,
        /// The paths directly below the root that those agents have.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        taken_paths: Vec<String>,
    },
    /// A child and its first message, if it has one, in the log of the one who asked for it.
    Born(Box<AgentBirth>),
    /// In the log of the sender.
    Sent {
        to: AgentId,
        envelope: MailEnvelope,
    },
    /// A task begins with this message, or with a direct input of the user.
    Started {
        agent: AgentId,
        task: SubmissionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<MessageId>,
    },
    /// Messages joined the running task.
    Took {
        agent: AgentId,
        messages: Vec<MessageId>,
    },
    /// Result, status and callback in one line.
    Ended {
        agent: AgentId,
        task: SubmissionId,
        end: TaskEnding,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        callback: Option<Callback>,
    },
    /// A stop reached the agent before it took the next callback, which stays.
    Halted {
        agent: AgentId,
        end: TaskEnding,
    },
    /// A stop found nothing that had begun; what was asked for stays in the inbox.
    Withdrawn {
        agent: AgentId,
    },
    /// What a wait delivered: ends of children, by the ids of the callbacks that tell them or
    /// would have, and messages that came with its answer.
    Consumed {
        agent: AgentId,
        messages: Vec<MessageId>,
    },
    /// In the log of the one who asked for the stop; the status follows when the agent's
    /// own task has ended.
    StopAsked {
        agent: AgentId,
        stop: StopOrder,
        /// Why, in the words of whoever asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    Shut {
        agent: AgentId,
    },
    Reopened {
        agent: AgentId,
    },
    Released {
        agent: AgentId,
    },
    Pruned {
        agent: AgentId,
    },
    /// The session says otherwise than before whether callers are called back.
    Rebound {
        agent: AgentId,
        callback: CallbackMode,
    },
    /// Something kept for others, by which the tree decides nothing.
    Kept(AgentMetadata),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "keepsake", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(test, schemars(rename = "Keepsake"), ts(rename = "Keepsake"))]
pub enum AgentMetadata {
    /// An agent's note; absent when it was cleared.
    Note {
        agent: AgentId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The name that somebody gave to an agent's conversation; absent when it was cleared.
    Name {
        agent: AgentId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// A timer that writes to `target` on behalf of `by`.
    Watchdog {
        by: Caller,
        target: AgentId,
        interval_s: u64,
        message: String,
    },
    WatchdogOff {
        by: Caller,
        target: AgentId,
    },
    /// How the session is told of its children, as it was configured last.
    Callback(CallbackConfig),
    /// Whether the session is offered tools for agents, as it was configured last.
    Enabled {
        enabled: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(test, schemars(rename = "Birth"), ts(rename = "Birth"))]
pub struct AgentBirth {
    pub agent: AgentId,
    pub parent: AgentId,
    pub session: SessionId,
    pub path: String,
    pub genealogy: Genealogy,
    pub bond: ParentLink,
    /// None for a child that waits to be told what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<MailEnvelope>,
}

/// The message that a child's end puts in its caller's inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Callback {
    pub id: MessageId,
    pub target: AgentId,
}

/// How an agent came to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Genealogy {
    pub origin: AgentOrigin,
    /// Where in the parent's conversation it was spawned or forked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<SpawnPoint>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SpawnPoint {
    pub task: SubmissionId,
    pub message_index: u32,
}

/// What ties a child to its parent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(test, schemars(rename = "Bond"), ts(rename = "Bond"))]
pub struct ParentLink {
    pub callback: CallbackMode,
    pub on_parent_interrupt: OnParentInterrupt,
    pub reach: MessageReach,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum CallbackMode {
    Off,
    /// The first end of a task only.
    Once,
    #[default]
    Persistent,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum OnParentInterrupt {
    #[default]
    KeepRunning,
    Cancel,
}

/// Whom an agent may write to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(test, schemars(rename = "Reach"), ts(rename = "Reach"))]
pub enum MessageReach {
    #[default]
    Subtree,
    /// Its parent too.
    Parent,
    /// Its parent and its siblings too.
    Family,
}

/// A stop on its way to a running task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum StopOrder {
    Interrupt { why: Interruption },
    Cancel { by: Caller, scope: AgentId },
    Close { by: Caller, scope: AgentId },
}

/// One message without its contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(test, schemars(rename = "Envelope"), ts(rename = "Envelope"))]
pub struct MailEnvelope {
    pub id: MessageId,
    #[serde(flatten)]
    pub kind: MailKind,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum MailKind {
    /// Takes the place of the running task.
    Interrupt { from: MailSender },
    /// Joins the running task, or starts one.
    Regular { from: MailSender },
    /// Tells of a child's ended task; starts a task when the agent is idle.
    Callback { child: AgentId, task: SubmissionId },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(test, schemars(rename = "Sender"), ts(rename = "Sender"))]
pub enum MailSender {
    User,
    Agent(AgentId),
    /// A timer that this agent set up.
    Watchdog(AgentId),
}

/// Why a task is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(test, schemars(rename = "End"), ts(rename = "End"))]
pub enum TaskEnding {
    Completed,
    Errored,
    /// The session could not be loaded or opened for it.
    FailedToStart,
    Interrupted {
        why: Interruption,
    },
    Cancelled {
        by: Caller,
        /// The agent whose subtree was cancelled; the agent itself if it alone was meant.
        scope: AgentId,
    },
    BudgetExceeded,
    /// Newer input took the task's place and starts the next one.
    Replaced,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum Interruption {
    User,
    /// The parent, or an agent above it.
    Parent,
    /// The engine died while the task ran.
    Crash,
    /// The engine was shut down while the task ran.
    Shutdown,
    /// The root was configured anew while the task ran.
    Reconfigured,
}

/// A moment in Unix milliseconds.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TimeMs(pub i64);

/// Names one message, wherever it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct MessageId(pub Uuid);

impl MessageId {
    /// Derives the id of a callback from what it tells and whom. Telling it again, from
    /// whichever path, gives the same id and therefore the same message.
    pub fn of_callback(child: SessionId, task: &SubmissionId, target: SessionId) -> Self {
        let mut name = Vec::with_capacity(16 + task.as_str().len());
        name.extend_from_slice(target.0.as_bytes());
        name.extend_from_slice(task.as_str().as_bytes());
        Self(Uuid::new_v5(&child.0, &name))
    }

    /// Returns the id of the task that this message starts when it starts one.
    pub fn task(self) -> SubmissionId {
        SubmissionId(self.0.to_string())
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// On whose behalf something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum Caller {
    User,
    /// The model of this agent, through a tool.
    Agent(AgentId),
}

impl Caller {
    /// Returns the agent in whose log the caller's deeds are written. The user speaks
    /// through the root.
    pub fn log_owner(self) -> AgentId {
        match self {
            Self::User => AgentId::ROOT,
            Self::Agent(agent) => agent,
        }
    }
}

impl StopOrder {
    /// Tells whether the agent takes no more input because of it.
    pub fn ends_input(self) -> bool {
        match self {
            Self::Interrupt { .. } => false,
            Self::Cancel { .. } | Self::Close { .. } => true,
        }
    }

    /// A later order replaces an earlier one only if it goes further.
    pub fn exceeds(self, earlier: Option<Self>) -> bool {
        let rank = |order| match order {
            Self::Interrupt { .. } => 1,
            Self::Cancel { .. } => 2,
            Self::Close { .. } => 3,
        };
        earlier.is_none_or(|earlier| rank(self) > rank(earlier))
    }
}

impl MailKind {
    /// Tells whether a running task may take it along.
    pub fn joins_task(&self) -> bool {
        match self {
            Self::Interrupt { .. } | Self::Regular { .. } => true,
            Self::Callback { .. } => false,
        }
    }
}

impl TaskEnding {
    /// Tells whether the agent's caller hears of this end by a callback. It does not when
    /// the task goes on in another form, nor when the caller, or a stop that reached the
    /// caller too, ended it.
    pub fn calls_back(self, agent: AgentId, target: AgentId) -> bool {
        match self {
            Self::Completed | Self::Errored | Self::FailedToStart | Self::BudgetExceeded => true,
            Self::Interrupted { why } => match why {
                Interruption::User | Interruption::Parent => true,
                Interruption::Crash | Interruption::Shutdown | Interruption::Reconfigured => false,
            },
            Self::Cancelled { by, scope } => scope == agent && by != Caller::Agent(target),
            Self::Replaced => false,
        }
    }
}
