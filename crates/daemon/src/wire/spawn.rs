//! Children and forks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use troupe_protocol::SessionId;
use troupe_protocol::policy::{ReasoningEffort, SandboxMode};
use troupe_protocol::spawn::ApprovalRoute;

use super::session::SessionView;
use super::task::TaskView;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChildSpawnRequest {
    pub prompt: String,
    pub title: Option<String>,
    /// The role, such as `worker`, `explorer` or `reviewer`.
    pub agent_type: Option<String>,
    /// Who runs it: `troupe`, or the name of a configured backend. Without it: as the parent.
    pub agentic_tool: Option<String>,
    pub model: Option<String>,
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Can only narrow what the parent has.
    pub sandbox_mode: Option<SandboxMode>,
    /// Who answers what it asks. Without it: as its role says.
    pub approvals: Option<ApprovalRoute>,
    /// Whether the parent is called back when a task of the child has ended.
    pub enable_callback: Option<bool>,
    /// Whether the callback holds the child's last message.
    pub include_last_message: Option<bool>,
    /// Whether the callback holds this prompt.
    pub include_original_prompt: Option<bool>,
    /// Added to the prompt.
    pub extra_instructions: Option<String>,
    /// A JSON Schema that the answer must fit.
    pub output_schema: Option<Map<String, Value>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChildSpawned {
    /// The id once more, as callers of the seed's tool read it.
    #[serde(rename = "sessionId")]
    pub seed_id: SessionId,
    pub session: SessionView,
    pub task: TaskView,
    /// What was asked for, what it got, and one sentence for each difference.
    pub requested: Value,
    pub effective: Value,
    pub why: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkRequest {
    /// The last task that the fork has; all if absent. It must have ended.
    pub task_id: Option<String>,
    /// The first task of the fork. Without it the fork waits for one.
    pub prompt: Option<String>,
}
