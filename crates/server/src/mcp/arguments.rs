//! What the tools take. The names are those that agents know from other orchestrators.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use troupe_protocol::policy::{ReasoningEffort, SandboxMode};

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SpawnArguments {
    /// What the session is to do.
    pub prompt: String,
    /// A name for the session.
    pub title: Option<String>,
    /// Who runs it: "troupe", or the name of another agent that is configured as a backend.
    /// Without it: troupe, or what the parent is run by.
    pub agentic_tool: Option<String>,
    /// Makes it a child of this session, whatever its place in its tree; the session is called
    /// back when it is done. Without it: a session of its own.
    pub parent_session_id: Option<String>,
    /// Whether the parent is called back when the child is done. Without it: as configured (yes).
    pub enable_callback: Option<bool>,
    /// Whether the callback holds the child's last message. Without it: as configured (yes).
    pub include_last_message: Option<bool>,
    /// Whether the callback holds this prompt. Without it: as configured (no).
    pub include_original_prompt: Option<bool>,
    /// Added to the prompt.
    pub extra_instructions: Option<String>,
    /// The role of a child, such as worker, explorer or reviewer.
    pub agent_type: Option<String>,
    /// Without it: as configured, or the parent's.
    pub model: Option<String>,
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Can only narrow what is configured.
    pub sandbox_mode: Option<SandboxMode>,
    /// The absolute path of an existing directory. Without it: where this server was started.
    pub working_directory: Option<PathBuf>,
    /// A JSON Schema that the last message must fit; the parsed value is in the task.
    pub output_schema: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PromptArguments {
    /// The id of the session, a unique beginning of it, or its name.
    pub session_id: String,
    pub prompt: String,
    #[serde(default)]
    pub mode: PromptMode,
    /// Ends what the session does now, instead of joining it.
    #[serde(default)]
    pub interrupt: bool,
    /// Answer when the session is done. Otherwise at once.
    #[serde(default = "yes")]
    pub wait: bool,
    /// How long to wait; the session goes on afterwards.
    #[serde(default = "patience")]
    pub timeout_ms: u64,
}

/// Where a prompt goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum PromptMode {
    /// To the session itself.
    #[default]
    Continue,
    /// To a copy of it, which is a session of its own.
    Fork,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ListSessionsArguments {
    /// How many, at most 100. Without it: 25.
    pub limit: Option<usize>,
    /// nextCursor of the page before.
    pub cursor: Option<String>,
    /// Found in title or first prompt.
    pub search: Option<String>,
    /// Only sessions that worked in exactly this directory last.
    pub working_directory: Option<PathBuf>,
    /// Children too. They are otherwise seen with troupe_agents_tree.
    #[serde(default)]
    pub include_children: bool,
    /// Those that were archived, instead of the others.
    #[serde(default)]
    pub archived: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct GetArguments {
    /// The id of the session, a unique beginning of it, or its name.
    pub session_id: String,
    /// Whether to tell the last message.
    #[serde(default = "yes")]
    pub include_last_message: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CancelArguments {
    /// The id of the session, a unique beginning of it, or its name.
    pub session_id: String,
    /// Why, for the record.
    pub reason: Option<String>,
    /// Only tell what would be stopped.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct WaitArguments {
    /// The ids of sessions, unique beginnings of them, or names.
    #[serde(alias = "sessionId", deserialize_with = "one_or_many")]
    pub session_ids: Vec<String>,
    /// Wait until all are done. Otherwise until one is.
    #[serde(default)]
    pub all: bool,
    /// How long to wait; the sessions go on afterwards. 0 looks and does not wait.
    #[serde(default = "patience")]
    pub timeout_ms: u64,
    /// Whether to tell the last messages.
    #[serde(default = "yes")]
    pub include_last_message: bool,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TaskArguments {
    pub task_id: String,
    /// Whose task it is. Without it: any session that this server has in memory.
    pub session_id: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TasksArguments {
    /// The id of the session, a unique beginning of it, or its name.
    pub session_id: String,
    /// How many of the newest, at most 100. Without it: 25.
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TreeArguments {
    /// Any session of the tree.
    pub session_id: String,
    /// Closed and pruned ones too.
    #[serde(default)]
    pub include_closed: bool,
}

fn yes() -> bool {
    true
}

fn patience() -> u64 {
    crate::limits::MCP_WAIT_MS_DEFAULT
}

/// One id is as good as a list of one.
fn one_or_many<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a session id or a list of them")]
    enum SessionIds {
        One(String),
        Many(Vec<String>),
    }
    Ok(match SessionIds::deserialize(source)? {
        SessionIds::One(id) => vec![id],
        SessionIds::Many(ids) => ids,
    })
}
