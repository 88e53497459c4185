//! Trees.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troupe_protocol::{AgentId, SessionId};

use super::session::TokenCount;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TreeQuery {
    /// Closed and pruned agents too.
    #[serde(default)]
    pub closed: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TreeView {
    pub root_session_id: SessionId,
    /// The session that was asked for and all below it, by number.
    pub agents: Vec<TreeAgentView>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct TreeAgentView {
    pub agent_id: AgentId,
    pub session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<SessionId>,
    pub path: String,
    pub status: String,
    /// Why it was interrupted, what it waits on, which tools run: in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_on: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub current_tools: Vec<String>,
    /// The beginning of the last message or the error, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    pub since: String,
    /// When it last did something; only told of a tree in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenCount>,
    pub queue_length: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_task_id: Option<String>,
    pub pruned: bool,
}
