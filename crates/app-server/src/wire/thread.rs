//! Threads.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::policy::{
    ApprovalsReviewer, AskForApproval, Personality, ReasoningEffort, SandboxMode, SandboxPolicy,
};
use super::tool::DynamicToolSpec;
use super::turn::Turn;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Thread {
    pub id: String,
    /// The root of the tree that the thread belongs to, as far as it is known.
    pub session_id: String,
    pub forked_from_id: Option<String>,
    pub parent_thread_id: Option<String>,
    /// The beginning of the first thing that the user said.
    pub preview: String,
    pub ephemeral: bool,
    /// Always null: there are no projects.
    pub project_id: Option<String>,
    pub model_provider: String,
    pub model: Option<String>,
    /// Unix seconds.
    pub created_at: i64,
    /// Unix seconds.
    pub updated_at: i64,
    pub status: ThreadStatus,
    pub path: Option<PathBuf>,
    pub cwd: PathBuf,
    pub cli_version: String,
    pub source: ThreadSource,
    pub agent_nickname: Option<String>,
    pub agent_role: Option<String>,
    /// Its place in the tree, such as `/root/tests`. Ours.
    pub agent_path: Option<String>,
    pub git_info: Option<GitInfo>,
    pub name: Option<String>,
    /// What was noted of the thread. Ours.
    pub note: Option<String>,
    pub turns: Vec<Turn>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ThreadStatus {
    NotLoaded,
    Idle,
    Active { active_flags: Vec<ActiveFlag> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ActiveFlag {
    WaitingOnApproval,
    WaitingOnUserInput,
}

/// Who opened a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ThreadSource {
    Cli,
    Exec,
    AppServer,
    Unknown,
    /// `tui`, `mcp` or `acp`.
    Custom(String),
    SubAgent(SubAgentSource),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SubAgentSource {
    pub thread_spawn: ThreadSpawn,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadSpawn {
    pub parent_thread_id: String,
    pub depth: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct GitInfo {
    pub sha: Option<String>,
    pub branch: Option<String>,
    pub origin_url: Option<String>,
}

/// The settings of a thread that is opened. What is absent comes from the configuration, or of
/// a stored thread from what it had.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadSettings {
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub model_provider: Option<String>,
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    #[serde(default)]
    pub approval_policy: Option<AskForApproval>,
    #[serde(default)]
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    #[serde(default)]
    pub sandbox: Option<SandboxMode>,
    /// Of the configuration's keys, `model_reasoning_effort`, `model_reasoning_summary` and those
    /// of `agents` count.
    #[serde(default)]
    pub config: Option<BTreeMap<String, Value>>,
    #[serde(default)]
    pub base_instructions: Option<String>,
    #[serde(default)]
    pub developer_instructions: Option<String>,
    #[serde(default)]
    pub personality: Option<Personality>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadStartParams {
    #[serde(flatten)]
    pub settings: ThreadSettings,
    /// Nothing is written to disk.
    #[serde(default)]
    pub ephemeral: Option<bool>,
    /// Tools that the client runs itself when the model calls them. Experimental.
    #[serde(default)]
    pub dynamic_tools: Option<Vec<DynamicToolSpec>>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadResumeParams {
    pub thread_id: String,
    /// A log of ours, or a file of another agent's, of which a thread is made. It counts before the
    /// id, unless that is of a thread in memory. Experimental.
    #[serde(default)]
    pub path: Option<PathBuf>,
    #[serde(flatten)]
    pub settings: ThreadSettings,
    /// Leaves the turns out of the answer.
    #[serde(default)]
    pub exclude_turns: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadForkParams {
    pub thread_id: String,
    /// As of `thread/resume`. Experimental.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// The last turn that the new thread has; all if absent. It must have ended.
    #[serde(default)]
    pub last_turn_id: Option<String>,
    /// The first turn that the new thread does not have. Experimental.
    #[serde(default)]
    pub before_turn_id: Option<String>,
    #[serde(flatten)]
    pub settings: ThreadSettings,
    #[serde(default)]
    pub ephemeral: Option<bool>,
    /// Leaves the turns out of the answer.
    #[serde(default)]
    pub exclude_turns: Option<bool>,
}

/// The answer to `thread/start`, `thread/resume` and `thread/fork`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadOpenResponse {
    pub thread: Thread,
    pub model: String,
    pub model_provider: String,
    pub service_tier: Option<String>,
    pub cwd: PathBuf,
    pub instruction_sources: Vec<PathBuf>,
    pub approval_policy: AskForApproval,
    pub approvals_reviewer: ApprovalsReviewer,
    pub sandbox: SandboxPolicy,
    pub reasoning_effort: Option<ReasoningEffort>,
}

/// The parameters of what concerns one thread and says nothing more.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadIdParams {
    pub thread_id: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadResponse {
    pub thread: Thread,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadReadParams {
    pub thread_id: String,
    #[serde(default)]
    pub include_turns: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadListParams {
    pub cursor: Option<String>,
    pub limit: Option<u32>,
    pub sort_key: Option<ThreadSortKey>,
    pub sort_direction: Option<SortDirection>,
    pub model_providers: Option<Vec<String>>,
    /// `cli`, `vscode`, `exec`, `appServer`, `subAgent…`, `unknown`.
    pub source_kinds: Option<Vec<String>>,
    pub archived: Option<bool>,
    pub cwd: Option<CwdFilter>,
    pub search_term: Option<String>,
}

/// One directory or several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum CwdFilter {
    One(PathBuf),
    Any(Vec<PathBuf>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[expect(clippy::enum_variant_names, reason = "the names are those of the wire")]
pub enum ThreadSortKey {
    CreatedAt,
    UpdatedAt,
    RecencyAt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum SortDirection {
    Asc,
    Desc,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadListResponse {
    pub data: Vec<Thread>,
    pub next_cursor: Option<String>,
    pub backwards_cursor: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadLoadedListParams {
    pub cursor: Option<String>,
    pub limit: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadLoadedListResponse {
    pub data: Vec<String>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadSetNameParams {
    pub thread_id: String,
    pub name: String,
}

/// Items of the Responses API, for the model alone.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadInjectItemsParams {
    pub thread_id: String,
    pub items: Vec<Value>,
}

/// An empty note clears it. Ours.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadSetNoteParams {
    pub thread_id: String,
    pub note: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadRollbackParams {
    pub thread_id: String,
    /// At least one.
    pub num_turns: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadUnsubscribeResponse {
    pub status: UnsubscribeStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum UnsubscribeStatus {
    NotLoaded,
    NotSubscribed,
    Unsubscribed,
}
