//! Sessions.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use troupe_protocol::policy::{ApprovalPolicy, ReasoningEffort, SandboxMode};
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::{AgentId, SessionId};

use super::callback::CallbackConfigChange;
use super::task::TaskView;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionCreateRequest {
    /// The first task. Without it the session waits for one.
    pub prompt: Option<String>,
    pub title: Option<String>,
    pub note: Option<String>,
    /// The absolute path of an existing directory. Without it: where the daemon was started.
    pub working_directory: Option<PathBuf>,
    /// Who runs it: `troupe`, or the name of a configured backend.
    pub agentic_tool: Option<String>,
    pub model: Option<String>,
    pub model_provider: Option<String>,
    pub reasoning_effort: Option<ReasoningEffort>,
    pub sandbox_mode: Option<SandboxMode>,
    pub approval_policy: Option<ApprovalPolicy>,
    /// A JSON Schema that the answer to the first task must fit.
    pub output_schema: Option<Map<String, Value>>,
    pub callback_config: Option<CallbackConfigChange>,
    /// Settings for this session and its children, by their keys in the configuration.
    pub config: Option<Map<String, Value>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionListQuery {
    /// Found in title or first prompt.
    pub q: Option<String>,
    /// Only sessions that worked in exactly this directory last.
    pub working_directory: Option<PathBuf>,
    /// Those that were archived, in the place of the others.
    #[serde(default)]
    pub archived: bool,
    /// Children too.
    #[serde(default)]
    pub children: bool,
    /// At most 200; 50 if absent.
    pub limit: Option<usize>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionPage {
    pub data: Vec<SessionEntry>,
    /// Asks for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A session as the list shows it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionEntry {
    pub id: SessionId,
    pub short_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The beginning of the first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    pub source: &'static str,
    pub working_directory: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub created_at: String,
    pub updated_at: String,
    pub tokens: u64,
    pub archived: bool,
    /// Whether the daemon has it in memory.
    pub loaded: bool,
    /// Whether it has a task; only told of those in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from_session_id: Option<SessionId>,
}

/// A session. `version` changes with status, readiness and queue, as one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct SessionView {
    pub id: SessionId,
    pub short_id: String,
    /// `pending_init`, `queued`, `running`, `ready`, `completed`, `errored`, `interrupted`,
    /// `cancelled`, `budget_exceeded`, `shutdown` or `lost`. Nobody but the session writes it.
    pub status: String,
    /// Why it was interrupted: `user`, `parent`, `crash`, `shutdown` or `reconfigured`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interruption: Option<String>,
    /// Nothing runs, and nothing waits to be taken.
    pub ready_for_prompt: bool,
    pub version: String,
    /// Whether the daemon has it in memory.
    pub loaded: bool,
    /// Another process works with it: prompts are refused until that one ends.
    pub held_elsewhere: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub archived: bool,
    /// Its number and its path in its tree.
    pub agent_id: AgentId,
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_on: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub current_tools: Vec<String>,
    /// When the status changed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Messages and callbacks that wait.
    pub queue_length: u32,
    pub message_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_task_id: Option<String>,
    pub working_directory: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub model_provider: String,
    pub created_at: String,
    pub updated_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenCount>,
    /// How it is told of its children. Those below a root have that of the root, unless their spawn
    /// said something of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback_config: Option<CallbackConfig>,
    pub genealogy: GenealogyView,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub(crate) struct TokenCount {
    pub own: u64,
    /// With everybody below.
    pub subtree: u64,
}

/// How a session came to be, and who came of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct GenealogyView {
    pub root_session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<SessionId>,
    pub children: Vec<SessionId>,
    /// The task of the parent that ran, or had run last, when it was spawned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawn_point_task_id: Option<String>,
    /// How many items the parent's model knew by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawn_point_message_index: Option<u32>,
    /// What it was made with; absent for a root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawn_config: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from_session_id: Option<SessionId>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionCreated {
    /// The id once more, as callers of the seed's tool read it.
    #[serde(rename = "sessionId")]
    pub seed_id: SessionId,
    pub session: SessionView,
    /// The first task, if there was a prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskView>,
}

/// What is to be different; what is absent stays as it is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionChange {
    /// An empty text clears it.
    pub title: Option<String>,
    /// An empty text clears it.
    pub note: Option<String>,
    /// Out of the list, or back in it. Only of a root at which nothing runs.
    pub archived: Option<bool>,
    /// Only of a root: its children have it too.
    pub callback_config: Option<CallbackConfigChange>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionDeleteQuery {
    /// Only tell who would be gone.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionsDeleted {
    /// Those of the tree, the session itself last.
    pub deleted: Vec<SessionId>,
    pub dry_run: bool,
}

/// Ancestors and descendants of a session, by their ids.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LineageView {
    pub session_id: SessionId,
    /// The parent first, the root last.
    pub ancestors: Vec<SessionId>,
    #[serde(flatten)]
    pub genealogy: GenealogyView,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitQuery {
    /// `idle`: until the session itself has nothing to do. `all`: until nobody in its tree has.
    #[serde(rename = "for", default)]
    pub until: WaitGoal,
    /// At most 600000; 30000 if absent.
    pub timeout_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WaitGoal {
    #[default]
    Idle,
    All,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WaitView {
    /// The time was up before that.
    pub timed_out: bool,
    pub session: SessionView,
}
