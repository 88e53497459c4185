//! Ours: the tree of agents below a thread. An agent is named by its number, its path
//! (`/root/tests`), its name or the id of its thread.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use troupe_protocol::StopVerb;
use troupe_protocol::agent::AgentStatus;

use super::input::UserInput;
use super::policy::{ReasoningEffort, SandboxMode};

/// The trees that are in memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TreeListResponse {
    pub data: Vec<TreeSummary>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TreeSummary {
    pub root_thread_id: String,
    /// Agents below the root that were not closed.
    pub agents: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TreeReadParams {
    pub root_thread_id: String,
    /// Closed and pruned agents too.
    #[serde(default)]
    pub include_closed: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TreeReadResponse {
    /// The root first, then by number.
    pub agents: Vec<Agent>,
}

/// How an agent stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
pub struct Agent {
    pub agent_id: String,
    pub thread_id: String,
    /// Null for the root and for the released.
    pub parent_thread_id: Option<String>,
    pub path: String,
    pub depth: u32,
    pub role: Option<String>,
    pub model: Option<String>,
    pub note: Option<String>,
    pub status: AgentStanding,
    /// The beginning of the last message or the error.
    pub preview: Option<String>,
    /// The tools that run now.
    pub current_tools: Vec<String>,
    pub inbox: InboxDepth,
    pub last_task_id: Option<String>,
    pub born_at_ms: i64,
    /// When the status changed last.
    pub since_ms: i64,
    pub total_tokens: u64,
    /// With everybody below.
    pub subtree_tokens: u64,
    /// Only its results are left.
    pub pruned: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum AgentStanding {
    PendingInit,
    /// Never ran, and was given nothing to do yet.
    Ready,
    /// Starts when a slot is free; 1 is next.
    Queued {
        position: u32,
    },
    Running,
    Completed,
    Errored,
    Interrupted,
    Cancelled,
    BudgetExceeded,
    Shutdown,
    /// Its log is gone: it ran once, and cannot run again.
    Lost,
    NotFound,
}

impl From<&AgentStatus> for AgentStanding {
    fn from(status: &AgentStatus) -> Self {
        match status {
            AgentStatus::PendingInit => Self::PendingInit,
            AgentStatus::Ready => Self::Ready,
            AgentStatus::Queued { position } => Self::Queued {
                position: *position,
            },
            AgentStatus::Running => Self::Running,
            AgentStatus::Completed(_) => Self::Completed,
            AgentStatus::Errored(_) => Self::Errored,
            AgentStatus::Interrupted => Self::Interrupted,
            AgentStatus::Cancelled => Self::Cancelled,
            AgentStatus::BudgetExceeded => Self::BudgetExceeded,
            AgentStatus::Shutdown => Self::Shutdown,
            AgentStatus::Lost(_) => Self::Lost,
            AgentStatus::NotFound => Self::NotFound,
        }
    }
}

/// What waits to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct InboxDepth {
    pub messages: u32,
    pub interrupts: u32,
}

/// The life of an agent below a thread has changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TreeChangedNotification {
    pub root_thread_id: String,
    pub agent_id: String,
    /// Of the agent.
    pub thread_id: String,
    pub change: TreeChange,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum TreeChange {
    Created {
        parent_thread_id: Option<String>,
        path: Option<String>,
        status: AgentStanding,
    },
    /// It was there before: told of every agent when the tree is taken up again, or followed by
    /// one more client, so that a client can draw the tree from what it is told.
    Restored {
        parent_thread_id: Option<String>,
        path: Option<String>,
        status: AgentStanding,
        /// The beginning of the last message or the error.
        preview: Option<String>,
    },
    Status {
        status: AgentStanding,
        /// The beginning of the last message or the error.
        preview: Option<String>,
    },
    /// What it thinks about now.
    Thinking { header: String },
    /// Only its results are left.
    Pruned,
}

/// How much mail waits for an agent has changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentInboxNotification {
    pub root_thread_id: String,
    pub agent_id: String,
    /// Of the agent.
    pub thread_id: String,
    pub inbox: InboxDepth,
}

/// A child of the root. What is absent is the role's, or the root's.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentSpawnParams {
    pub root_thread_id: String,
    pub input: Vec<UserInput>,
    /// `default` if absent.
    #[serde(default)]
    pub role: Option<String>,
    /// A wish for the last part of the path.
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub effort: Option<ReasoningEffort>,
    /// At most what the root may.
    #[serde(default)]
    pub sandbox: Option<SandboxMode>,
    /// The JSON Schema that the answer must fit.
    #[serde(default)]
    pub output_schema: Option<Value>,
    #[serde(default)]
    pub note: Option<String>,
    /// Whether the root is told when the child has ended.
    #[serde(default)]
    pub call_back: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentSpawnResponse {
    pub agent: Agent,
    /// One sentence for each wish that was not granted as it was.
    pub why: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentSendParams {
    pub root_thread_id: String,
    pub agent: String,
    pub input: Vec<UserInput>,
    /// Takes the place of the running task.
    #[serde(default)]
    pub interrupt: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentSendResponse {
    pub message_id: String,
    pub receipt: Receipt,
    /// The recipient, afterwards.
    pub agent: Agent,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum Receipt {
    /// It starts a task now.
    Delivered,
    /// It will be taken; 1 is next.
    Queued { position: usize },
    /// It is in the inbox, from which nothing is taken at present.
    Held,
    /// The agent takes nothing any more.
    Dead,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentWaitParams {
    pub root_thread_id: String,
    /// Any of these; any child of the root if there is none.
    #[serde(default)]
    pub agents: Vec<String>,
    #[serde(default)]
    pub timeout_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentWaitResponse {
    pub timed_out: bool,
    /// Who had ended at that moment.
    pub finished: Vec<FinishedAgent>,
    pub unfinished: Vec<Agent>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FinishedAgent {
    /// As it was asked for.
    pub asked: String,
    /// Null for one that never was.
    pub agent: Option<Agent>,
    pub result: Option<AgentResult>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentResultParams {
    pub root_thread_id: String,
    pub agent: String,
    /// Its last task if absent.
    #[serde(default)]
    pub task_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentResultResponse {
    pub result: AgentResult,
}

/// What a task came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentResult {
    pub thread_id: String,
    pub task_id: String,
    pub completed: bool,
    /// The last message, or what went wrong.
    pub text: Option<String>,
    /// The answer under the schema that was asked for, if it fits.
    pub output: Option<Value>,
    pub evidence: Evidence,
}

/// What the engine saw, whatever the model says.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Evidence {
    pub started_at_ms: i64,
    pub ended_at_ms: i64,
    pub total_tokens: u64,
    pub tool_calls: BTreeMap<String, u32>,
    pub commands: Vec<CommandEvidence>,
    pub files: Vec<FileEvidence>,
    /// Entries left out of the two lists.
    pub omitted: u32,
    /// Threads of children that the task made.
    pub children: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CommandEvidence {
    pub command: String,
    pub exit_code: Option<i32>,
    /// A person or a policy said no, and it did not run.
    pub refused: bool,
}

/// A file that the task changed, by SHA-256; null where there was or is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FileEvidence {
    pub path: PathBuf,
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentNoteSetParams {
    pub root_thread_id: String,
    pub agent: String,
    /// An empty one clears it.
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentStopParams {
    pub root_thread_id: String,
    pub agents: Vec<String>,
    #[cfg_attr(
        test,
        schemars(with = "described::StopVerb"),
        ts(as = "described::StopVerb")
    )]
    pub verb: StopVerb,
    /// Only tell what would be touched.
    #[serde(default)]
    pub dry_run: bool,
    /// Why, for the record.
    #[serde(default)]
    pub note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentStopResponse {
    pub touched: Vec<TouchedAgent>,
    pub skipped: Vec<SkippedAgent>,
    /// Addresses that mean nobody.
    pub unknown: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TouchedAgent {
    /// As it was before.
    pub agent: Agent,
    #[cfg_attr(
        test,
        schemars(with = "described::StopVerb"),
        ts(as = "described::StopVerb")
    )]
    pub action: StopVerb,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SkippedAgent {
    pub agent: Agent,
    pub why: SkipReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum SkipReason {
    /// Nothing runs, and nothing is about to.
    Idle,
    /// It, or an agent below it, is not finished.
    Active,
    AlreadyDone,
    Unknown,
}

/// What the generated files say about types of `protocol`, which describes them for its own tests
/// alone.
#[cfg(test)]
mod described {
    #[derive(serde::Serialize, schemars::JsonSchema, ts_rs::TS)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only its description is used")]
    pub enum StopVerb {
        /// This task of this agent.
        Interrupt,
        /// The tasks of the subtree.
        Cancel,
        /// Cancel, then shut down.
        Close,
        /// The child goes on without a parent.
        Release,
        /// Takes finished agents out of the tree; results stay.
        Prune,
    }
}
