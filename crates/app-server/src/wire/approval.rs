//! Requests of the server to its clients: approvals and questions.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::item::CommandAction;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CommandApprovalParams {
    pub thread_id: String,
    pub turn_id: String,
    pub item_id: String,
    pub started_at_ms: i64,
    pub reason: Option<String>,
    pub command: Option<String>,
    pub cwd: Option<PathBuf>,
    pub command_actions: Option<Vec<CommandAction>>,
    /// What can be answered. An approval for the session is missing where nobody can say what
    /// the same words will run next time.
    pub available_decisions: Option<Vec<ApprovalDecision>>,
    /// The agent that asks, by its place in the tree, if it is not the root. Ours.
    pub agent_path: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FileChangeApprovalParams {
    pub thread_id: String,
    pub turn_id: String,
    pub item_id: String,
    pub started_at_ms: i64,
    pub reason: Option<String>,
    pub grant_root: Option<PathBuf>,
    /// The agent that asks, by its place in the tree, if it is not the root. Ours.
    pub agent_path: Option<String>,
}

/// The answer to both.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ApprovalResponse {
    pub decision: ApprovalDecision,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ApprovalDecision {
    Accept,
    AcceptForSession,
    /// Accepted, and the same words are not asked about again.
    AcceptWithExecpolicyAmendment(Value),
    /// The tool is refused, and the turn goes on.
    Decline,
    /// The turn is interrupted.
    Cancel,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct UserInputParams {
    pub thread_id: String,
    pub turn_id: String,
    pub item_id: String,
    pub questions: Vec<Question>,
    pub is_blocking: bool,
    /// The agent that asks, by its place in the tree, if it is not the root. Ours.
    pub agent_path: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[expect(clippy::struct_field_names, reason = "the names are those of the wire")]
pub struct Question {
    pub id: String,
    pub header: String,
    pub question: String,
    pub is_other: bool,
    pub is_secret: bool,
    pub options: Option<Vec<QuestionOption>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct QuestionOption {
    pub label: String,
    pub description: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct UserInputResponse {
    /// By the id of the question; labels of options, or free text.
    pub answers: BTreeMap<String, UserInputAnswer>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct UserInputAnswer {
    pub answers: Vec<String>,
}

/// An MCP server asks something while it runs a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ElicitationParams {
    pub thread_id: String,
    pub turn_id: Option<String>,
    pub server_name: String,
    /// As the server wrote it: `mode`, `message`, and `requestedSchema` or `url`.
    #[serde(flatten)]
    pub request: BTreeMap<String, Value>,
    /// The agent that asks, by its place in the tree, if it is not the root. Ours.
    pub agent_path: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ElicitationResponse {
    pub action: ElicitationAction,
    #[serde(default)]
    pub content: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ElicitationAction {
    Accept,
    Decline,
    Cancel,
}
