//! What a turn consists of.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::input::UserInput;
use super::policy::ReasoningEffort;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ThreadItem {
    UserMessage {
        id: String,
        /// The name that the client gave to its message.
        client_id: Option<String>,
        content: Vec<UserInput>,
        /// Whose end it tells of, if the engine wrote it. Ours.
        callback: Option<CallbackOrigin>,
    },
    AgentMessage {
        id: String,
        text: String,
    },
    /// EXPERIMENTAL: a plan proposed in plan mode. The completed text counts; the deltas together
    /// may differ from it.
    Plan {
        id: String,
        text: String,
    },
    Reasoning {
        id: String,
        summary: Vec<String>,
        content: Vec<String>,
    },
    CommandExecution {
        id: String,
        command: String,
        cwd: PathBuf,
        process_id: Option<String>,
        source: CommandSource,
        status: WorkStatus,
        command_actions: Vec<CommandAction>,
        aggregated_output: Option<String>,
        exit_code: Option<i32>,
        duration_ms: Option<u64>,
    },
    FileChange {
        id: String,
        changes: Vec<FileUpdateChange>,
        status: WorkStatus,
    },
    McpToolCall {
        id: String,
        server: String,
        tool: String,
        status: ToolStatus,
        arguments: Value,
        result: Option<Value>,
        error: Option<ToolError>,
        duration_ms: Option<u64>,
    },
    /// A call of any other tool.
    DynamicToolCall {
        id: String,
        /// Always absent: tools have no namespaces.
        namespace: Option<String>,
        tool: String,
        arguments: Value,
        status: ToolStatus,
        content_items: Option<Vec<ContentItem>>,
        success: Option<bool>,
    },
    /// Work with another agent, which is a thread of its own.
    CollabAgentToolCall {
        id: String,
        tool: CollabTool,
        status: ToolStatus,
        sender_thread_id: String,
        receiver_thread_ids: Vec<String>,
        prompt: Option<String>,
        model: Option<String>,
        reasoning_effort: Option<ReasoningEffort>,
        agents_states: BTreeMap<String, AgentState>,
    },
    ImageView {
        id: String,
        path: PathBuf,
    },
    EnteredReviewMode {
        id: String,
        review: String,
    },
    ExitedReviewMode {
        id: String,
        review: String,
    },
    ContextCompaction {
        id: String,
    },
}

impl ThreadItem {
    pub fn id(&self) -> &str {
        match self {
            Self::UserMessage { id, .. }
            | Self::AgentMessage { id, .. }
            | Self::Plan { id, .. }
            | Self::Reasoning { id, .. }
            | Self::CommandExecution { id, .. }
            | Self::FileChange { id, .. }
            | Self::McpToolCall { id, .. }
            | Self::DynamicToolCall { id, .. }
            | Self::CollabAgentToolCall { id, .. }
            | Self::ImageView { id, .. }
            | Self::EnteredReviewMode { id, .. }
            | Self::ExitedReviewMode { id, .. }
            | Self::ContextCompaction { id } => id,
        }
    }

    /// Returns it as one that was not agreed to.
    #[must_use]
    pub fn declined(mut self) -> Self {
        if let Self::CommandExecution { status, .. } | Self::FileChange { status, .. } = &mut self {
            *status = WorkStatus::Declined;
        }
        self
    }
}

/// The child whose end a message tells of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CallbackOrigin {
    pub is_callback: bool,
    pub source: String,
    pub child_session_id: String,
    pub child_task_id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum CommandSource {
    Agent,
    UserShell,
    UnifiedExecStartup,
    UnifiedExecInteraction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum WorkStatus {
    InProgress,
    Completed,
    Failed,
    Declined,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ToolStatus {
    InProgress,
    Completed,
    Failed,
}

/// What a command does, as far as its words tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum CommandAction {
    Read {
        command: String,
        name: String,
        path: PathBuf,
    },
    ListFiles {
        command: String,
        path: Option<String>,
    },
    Search {
        command: String,
        query: Option<String>,
        path: Option<String>,
    },
    Unknown {
        command: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FileUpdateChange {
    pub path: PathBuf,
    pub kind: PatchChangeKind,
    /// Of an added or deleted file its contents.
    pub diff: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum PatchChangeKind {
    Add,
    Delete,
    Update {
        #[serde(rename = "move_path")]
        move_path: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ToolError {
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ContentItem {
    InputText { text: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum CollabTool {
    SpawnAgent,
    SendInput,
    ResumeAgent,
    Wait,
    CloseAgent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentState {
    pub status: AgentStatus,
    pub message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum AgentStatus {
    PendingInit,
    Running,
    Interrupted,
    Completed,
    Errored,
    Shutdown,
    NotFound,
}
