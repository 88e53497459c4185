//! What a client asks that no event tells: the agents of the tree and what is done to them, the
//! sessions of the home, what people typed before.
//!
//! Each query is answered once, to the connection that asked. What it changes is told to
//! everybody by events.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::agent::AgentCard;
use crate::id::{AgentId, SessionId, SubmissionId};
use crate::input::UserInput;
use crate::policy::{ReasoningEffort, SandboxMode};
use crate::result::TaskResult;
use crate::spawn::HistoryShare;
use crate::stop::StopVerb;
use crate::tree::MailKind;

/// An agent is named by its number, its path (`/root/tests`), its name or the id of its session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum LinkQuery {
    /// How the agents of the tree stand, the root first.
    Agents {
        /// Closed and pruned agents too.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        include_closed: bool,
    },
    /// Makes a child.
    SpawnAgent { order: Box<SpawnOrder> },
    SendToAgent {
        agent: String,
        items: Vec<UserInput>,
        #[serde(default)]
        urgency: MessageUrgency,
    },
    StopAgents {
        agents: Vec<String>,
        verb: StopVerb,
        /// Only tell what would be touched.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        dry_run: bool,
        /// Why, for the record.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Brings a closed agent back, and has a stopped one go on.
    ResumeAgent { agent: String },
    /// What a task of an agent came to, with what the engine saw of it.
    AgentResult {
        agent: String,
        /// Its last task if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task_id: Option<SubmissionId>,
    },
    SetAgentNote {
        agent: String,
        /// An empty one clears it.
        note: String,
    },
    /// Somebody has read what the agent's last task came to; all clients are told so in its card.
    MarkRead { agent: String },
    /// What was sent to an agent, newest last.
    AgentInbox { agent: String },
    /// What a child can be made from, in the session's directory.
    Roles,
    /// The sessions of the home that changed last, newest first.
    Sessions(SessionFilter),
    /// What people typed in this home, oldest first.
    Prompts {
        /// The newest ones, at most so many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
    },
    /// Keeps what somebody typed for later sessions.
    AddPrompt { text: String },
    /// What can be called with `/name` in the session's directory: prompts in files, and those of
    /// MCP servers.
    Commands,
    /// What a line `/name words` stands for.
    FillCommand { line: String },
}

impl LinkQuery {
    /// Tells whether it changes nothing in the session or its tree, so that followers may ask it
    /// too.
    pub fn only_looks(&self) -> bool {
        match self {
            Self::Agents { .. }
            | Self::AgentResult { .. }
            | Self::Sessions(_)
            | Self::MarkRead { .. }
            | Self::AgentInbox { .. }
            | Self::Roles
            | Self::Prompts { .. }
            | Self::AddPrompt { .. }
            | Self::Commands
            | Self::FillCommand { .. } => true,
            Self::StopAgents { dry_run, .. } => *dry_run,
            Self::SpawnAgent { .. }
            | Self::SendToAgent { .. }
            | Self::ResumeAgent { .. }
            | Self::SetAgentNote { .. } => false,
        }
    }
}

/// A child that a person makes below the root. What is absent is the role's, or the root's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SpawnOrder {
    pub items: Vec<UserInput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// A wish for the last part of the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    /// At most what the root may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxMode>,
    /// Absolute. The person who asks grants it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// How much of the root's conversation it begins with.
    #[serde(default, skip_serializing_if = "HistoryShare::is_none")]
    pub history: HistoryShare,
    /// Whether the root is told when the child has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub call_back: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum MessageUrgency {
    /// Joins the running task with its next request, or begins one.
    #[default]
    Regular,
    /// Takes the place of the running task.
    Interrupt,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SessionFilter {
    /// Only sessions that worked in exactly this directory last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Found in name or preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// Those that were archived, in the place of the others.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// The youngest first, and not those that changed last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_creation: bool,
    /// `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum LinkAnswer {
    Agents {
        agents: Vec<AgentCard>,
    },
    Spawned {
        agent: Box<AgentCard>,
        /// One sentence for each wish that was not granted as it was.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        why: Vec<String>,
    },
    Sent {
        agent: Box<AgentCard>,
        receipt: MessageReceipt,
    },
    Stopped {
        touched: Vec<StopStep>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        skipped: Vec<StopExemption>,
        /// Addresses that mean nobody.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unknown: Vec<String>,
    },
    Resumed {
        agent: Box<AgentCard>,
    },
    Result {
        result: Box<TaskResult>,
    },
    NoteSet,
    Read,
    Inbox {
        messages: Vec<MailCard>,
    },
    Roles {
        roles: Vec<RoleCard>,
    },
    Sessions {
        sessions: Vec<SessionCard>,
        /// Asks for the next page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next: Option<String>,
    },
    Prompts {
        prompts: Vec<String>,
    },
    PromptAdded,
    Commands {
        commands: Vec<PromptCommand>,
    },
    CommandFilled {
        /// The prompt; absent if nothing has the name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// What a person should know of it, a sentence each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
}

/// A prompt with a name, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct PromptCommand {
    /// What it is called by, behind a `/`.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How its arguments are written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument_hint: Option<String>,
}

/// A message to an agent, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct MailCard {
    /// How it is delivered and who sent it; absent while only the recipient's log tells of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MailKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_ms: Option<i64>,
    pub state: MailCardState,
}

/// What has become of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum MailCardState {
    Waiting,
    /// It began a task or joined one.
    Taken,
    /// A callback that a wait delivered.
    Consumed,
    /// What it was for was stopped first.
    Dropped,
}

/// A role, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct RoleCard {
    pub name: String,
    pub description: String,
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "receipt", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum MessageReceipt {
    /// It starts a task now.
    Delivered,
    /// It will be taken; 1 is next.
    Queued { position: usize },
    /// It waits until this is over.
    Held { until: String },
    /// It was not taken.
    Dead { why: String },
}

/// An agent that a stop reaches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct StopStep {
    pub agent_id: AgentId,
    pub path: String,
    pub verb: StopVerb,
}

/// An agent that a stop leaves as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct StopExemption {
    pub agent_id: AgentId,
    pub path: String,
    pub why: String,
}

/// A session of the home, with what the index knows of its tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SessionCard {
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The beginning of the first thing the user said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Where its last turn worked.
    pub cwd: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub created_ms: i64,
    pub updated_ms: i64,
    pub tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
    pub tree: TreeCount,
}

/// The agents below a root, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TreeCount {
    /// Below the root.
    pub agents: u32,
    /// Those whose last task was stopped before its end.
    pub stopped: u32,
    /// What they and the root ask, and nobody has answered.
    pub questions: u32,
    /// Some process works with the session.
    pub is_open: bool,
}
