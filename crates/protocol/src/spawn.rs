//! How a child is made: what was asked, and what it got.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::CallId;
use crate::limits::SUMMARY_CHARS_MAX;
use crate::policy::{ApprovalPolicy, ReasoningEffort, SandboxPolicy};
use crate::tree::CallbackMode;

/// Everything that a child's session is opened with, now and after each resume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SpawnSpec {
    /// The tool that made it, such as `spawn_agent`.
    pub tool: String,
    /// The call that made it, in its parent's conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// The role's name.
    pub agent_type: String,
    /// The persona inside the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The beginning of the prompt, in one line, as callbacks repeat it; empty if there was
    /// none.
    pub summary: String,
    pub instructions: ChildInstructions,
    pub cwd: PathBuf,
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
    pub approval_policy: ApprovalPolicy,
    pub approvals: ApprovalRoute,
    pub sandbox_policy: SandboxPolicy,
    /// Why nothing leaves that sandbox, whoever agrees: a role or a request narrowed it, for
    /// this child or one above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_held: Option<String>,
    /// The lists of every role from the root down to this child; a tool must pass each.
    pub tools: Vec<ToolLists>,
    pub history: HistoryShare,
    /// How the call that made it is answered in a history that it shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forking_call: Option<AnsweredCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// What it was told with when it was made.
    pub callback: CallbackConfig,
    /// What its caller said of that; absent in older logs, whose children keep `callback`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback_wish: Option<CallbackWish>,
}

impl SpawnSpec {
    /// Returns the beginning of the prompt as lists show it, if there was one.
    pub fn summary(&self) -> Option<String> {
        short_summary(&self.summary)
    }

    /// Tells whether the child was made with `create_session`.
    pub fn is_session(&self) -> bool {
        self.tool == "create_session"
    }
}

pub(crate) fn short_summary(text: &str) -> Option<String> {
    match text.char_indices().nth(SUMMARY_CHARS_MAX) {
        Some((end, _)) => Some(text[..end].trim_end().to_owned() + "…"),
        None => Some(text.to_owned()).filter(|text| !text.is_empty()),
    }
}

/// A call and the answer that a history has for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AnsweredCall {
    pub call_id: CallId,
    pub answer: String,
}

/// Where a child's instructions come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ChildInstructions {
    /// The same as its parent's, so that a fork begins with the same bytes.
    Inherited,
    // Shared, because the children of one role have the same.
    /// The role's prompt follows the built-in instructions.
    Role(Arc<str>),
}

/// Which tools one role allows. Deny beats allow; no allow list allows everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ToolLists {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// The MCP servers whose tools may be used; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<Vec<String>>,
}

/// Who answers a child's requests for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum ApprovalRoute {
    /// Nobody is asked; what would need an answer is refused.
    Never,
    /// Whoever watches the root of the tree.
    Route,
    /// The parent's current turn, and whoever watches the root.
    Parent,
}

/// How much of its parent's conversation a child begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum HistoryShare {
    #[default]
    None,
    All,
    /// The turns of the last inputs.
    LastTurns(u32),
}

impl HistoryShare {
    pub fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// What the one who makes a child says of being told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CallbackWish {
    /// How often, if the session has callbacks at all.
    pub mode: CallbackMode,
    /// It said nothing of the rest, so that what holds for the session does.
    pub inherits: bool,
}

/// How a session is told of the children it made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CallbackConfig {
    /// Whether the end of a child is told to who made it.
    pub enabled: bool,
    /// Whether what the child said last is part of that.
    pub include_last_message: bool,
    /// Whether the task that the child was given is repeated in it.
    pub include_original_prompt: bool,
    /// Handlebars; the built-in text if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

impl CallbackConfig {
    /// Returns the same with what a call says of the contents.
    #[must_use]
    pub fn including(self, last_message: Option<bool>, original_prompt: Option<bool>) -> Self {
        Self {
            include_last_message: last_message.unwrap_or(self.include_last_message),
            include_original_prompt: original_prompt.unwrap_or(self.include_original_prompt),
            ..self
        }
    }
}

impl Default for CallbackConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            include_last_message: true,
            include_original_prompt: false,
            template: None,
        }
    }
}
