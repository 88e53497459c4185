//! The lines as they are written. Names and fields are those of the Codex family.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{AgentId, SessionId};

use crate::exec::roster::EndTally;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type")]
pub enum JsonLine {
    #[serde(rename = "thread.started")]
    ThreadStarted { thread_id: String },
    #[serde(rename = "turn.started")]
    TurnStarted,
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        usage: JsonUsage,
        turn_usage: JsonUsage,
    },
    #[serde(rename = "turn.failed")]
    TurnFailed { error: ErrorText },
    #[serde(rename = "item.started")]
    ItemStarted { item: JsonItem },
    #[serde(rename = "item.updated")]
    ItemUpdated { item: JsonItem },
    #[serde(rename = "item.completed")]
    ItemCompleted { item: JsonItem },
    #[serde(rename = "error")]
    Error { message: String },
    /// Ours, as are the next four.
    #[serde(rename = "agent.created")]
    AgentCreated { agent: JsonAgent },
    /// One of a tree that was taken up again, as it stands now.
    #[serde(rename = "agent.restored")]
    AgentRestored { agent: JsonAgent },
    #[serde(rename = "agent.status")]
    AgentStatus {
        agent_id: AgentId,
        thread_id: SessionId,
        #[serde(flatten)]
        state: JsonAgentState,
    },
    #[serde(rename = "agent.deleted")]
    AgentDeleted {
        agent_id: AgentId,
        thread_id: SessionId,
    },
    #[serde(rename = "agents.finished")]
    AgentsFinished(EndTally),
}

/// An agent as it is when it is made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JsonAgent {
    pub agent_id: AgentId,
    pub thread_id: SessionId,
    pub parent_thread_id: Option<SessionId>,
    pub path: Option<String>,
    pub summary: Option<String>,
    #[serde(flatten)]
    pub state: JsonAgentState,
}

/// How an agent stands, and what there is to say about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JsonAgentState {
    pub status: &'static str,
    pub message: Option<String>,
    /// In the line of those that wait for others to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_field_names, reason = "the names are those of the wire")]
pub struct JsonUsage {
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub cache_write_input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_output_tokens: u64,
}

impl From<TokenUsage> for JsonUsage {
    fn from(usage: TokenUsage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            cache_write_input_tokens: usage.cache_write_input_tokens,
            output_tokens: usage.output_tokens,
            reasoning_output_tokens: usage.reasoning_output_tokens,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ErrorText {
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JsonItem {
    pub id: String,
    #[serde(flatten)]
    pub details: JsonItemDetails,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "made, written and dropped, one at a time"
)]
pub enum JsonItemDetails {
    AgentMessage {
        text: String,
    },
    /// Ours: the plan that plan mode proposes.
    Plan {
        text: String,
    },
    Reasoning {
        text: String,
    },
    CommandExecution {
        command: String,
        aggregated_output: String,
        exit_code: Option<i32>,
        status: ItemStatus,
    },
    FileChange {
        changes: Vec<JsonFileChange>,
        status: ItemStatus,
    },
    McpToolCall {
        server: String,
        tool: String,
        arguments: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<McpResult>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<ErrorText>,
        status: ItemStatus,
    },
    /// Ours: a call of any other tool.
    ToolCall {
        tool: String,
        arguments: Value,
        status: ItemStatus,
    },
    CollabToolCall {
        tool: &'static str,
        sender_thread_id: SessionId,
        receiver_thread_ids: Vec<SessionId>,
        prompt: Option<String>,
        agents_states: BTreeMap<SessionId, JsonAgentState>,
        status: ItemStatus,
    },
    TodoList {
        items: Vec<JsonTodo>,
    },
    Error {
        message: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    InProgress,
    Completed,
    Failed,
    Declined,
}

impl From<WorkStatus> for ItemStatus {
    fn from(status: WorkStatus) -> Self {
        match status {
            WorkStatus::InProgress => Self::InProgress,
            WorkStatus::Completed => Self::Completed,
            WorkStatus::Failed => Self::Failed,
            WorkStatus::Declined => Self::Declined,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JsonFileChange {
    pub path: String,
    pub kind: FileChangeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    Add,
    Delete,
    Update,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct McpResult {
    pub content: Value,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
    pub structured_content: Value,
}

/// Reads the result of an MCP call as its server wrote it.
impl From<&Value> for McpResult {
    fn from(result: &Value) -> Self {
        Self {
            content: result.get("content").cloned().unwrap_or_default(),
            meta: result.get("_meta").cloned(),
            structured_content: result
                .get("structuredContent")
                .or_else(|| result.get("structured_content"))
                .cloned()
                .unwrap_or_default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JsonTodo {
    pub text: String,
    pub completed: bool,
}
