//! A conversation as people see it: items that start, stream and complete.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::command::{CommandSource, FileChanges, ParsedCommand, WorkStatus};
use crate::id::ItemId;
use crate::input::UserInput;
use crate::tree::MessageMetadata;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
#[cfg_attr(not(feature = "closed"), non_exhaustive)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum TurnItem {
    UserMessage(UserMessageItem),
    AgentMessage(AgentMessageItem),
    /// EXPERIMENTAL: a plan proposed in plan mode. The completed text is authoritative; the deltas
    /// together may differ from it. A plan of nothing is not completed.
    Plan(PlanItem),
    Reasoning(ReasoningItem),
    CommandExecution(CommandExecutionItem),
    FileChange(FileChangeItem),
    McpToolCall(McpToolCallItem),
    /// A call of any other tool of the engine.
    ToolCall(ToolCallItem),
    ImageView(ImageViewItem),
    /// A skill that the user chose; its text was put before the message.
    Skill(SkillItem),
    ContextCompaction(ContextCompactionItem),
}

impl TurnItem {
    pub fn id(&self) -> &ItemId {
        match self {
            Self::UserMessage(item) => &item.id,
            Self::AgentMessage(item) => &item.id,
            Self::Plan(item) => &item.id,
            Self::Reasoning(item) => &item.id,
            Self::CommandExecution(item) => &item.id,
            Self::FileChange(item) => &item.id,
            Self::McpToolCall(item) => &item.id,
            Self::ToolCall(item) => &item.id,
            Self::ImageView(item) => &item.id,
            Self::Skill(item) => &item.id,
            Self::ContextCompaction(item) => &item.id,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct UserMessageItem {
    pub id: ItemId,
    pub content: Vec<UserInput>,
    /// The client's own name for the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Set if the engine wrote the message, as for a child that ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MessageMetadata>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentMessageItem {
    pub id: ItemId,
    pub text: String,
}

/// EXPERIMENTAL: a proposed plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct PlanItem {
    pub id: ItemId,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ReasoningItem {
    pub id: ItemId,
    pub summary_text: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw_content: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CommandExecutionItem {
    /// Equal to the id of the tool call.
    pub id: ItemId,
    pub command: Vec<String>,
    pub cwd: PathBuf,
    pub parsed_cmd: Vec<ParsedCommand>,
    #[serde(default)]
    pub source: CommandSource,
    /// Set when the command goes on after its call was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_id: Option<String>,
    pub status: WorkStatus,
    /// Set once the command was run; what was cut from the middle is said there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CommandOutcome>,
}

/// What a finished command left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CommandOutcome {
    /// `None` while the command goes on in the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// Both streams in the order in which they came.
    pub aggregated_output: String,
    /// What the model was told.
    pub formatted_output: String,
    pub duration_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FileChangeItem {
    /// Equal to the id of the tool call.
    pub id: ItemId,
    pub changes: FileChanges,
    pub status: WorkStatus,
    pub auto_approved: bool,
    #[serde(default)]
    pub stdout: String,
    #[serde(default)]
    pub stderr: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct McpToolCallItem {
    pub id: ItemId,
    pub server: String,
    pub tool: String,
    #[serde(default)]
    pub arguments: Value,
    pub status: WorkStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ToolCallItem {
    pub id: ItemId,
    pub tool: String,
    /// The arguments if they are JSON, else the raw text.
    pub arguments: Value,
    pub status: WorkStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ImageViewItem {
    pub id: ItemId,
    pub path: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SkillItem {
    pub id: ItemId,
    pub name: String,
    /// Its `SKILL.md`.
    pub path: PathBuf,
    /// The text is longer than what the model was told of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ContextCompactionItem {
    pub id: ItemId,
    /// Only a completed one changed the history. Older records tell of none that failed.
    #[serde(default = "completed")]
    pub status: WorkStatus,
}

fn completed() -> WorkStatus {
    WorkStatus::Completed
}
