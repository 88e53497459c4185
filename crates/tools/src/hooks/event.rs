//! What a hook is told, as JSON on its standard input. The names are a promise: `version`
//! grows when one of them changes its meaning or goes away; new ones may come at any time.

use std::fmt;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use troupe_protocol::{SessionId, SubmissionId};

pub(super) const VERSION: u32 = 1;

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HookInput<'a> {
    pub version: u32,
    pub session_id: SessionId,
    pub turn_id: &'a SubmissionId,
    pub cwd: &'a Path,
    pub model: &'a str,
    #[serde(flatten)]
    pub event: HookEvent<'a>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum HookEvent<'a> {
    BeforeTool {
        tool: ToolCalled<'a>,
    },
    AfterTool {
        tool: ToolCalled<'a>,
        output: ToolAnswer<'a>,
    },
    /// The tool is the one that makes the agent; its input says which.
    OnSpawn {
        tool: ToolCalled<'a>,
    },
    OnStop {
        /// What the model said last.
        last_message: Option<&'a str>,
    },
    OnApproval {
        tool: ToolCalled<'a>,
        /// What the person would be shown.
        request: Value,
    },
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ToolCalled<'a> {
    pub name: &'a str,
    pub call_id: &'a str,
    /// The arguments, or the text of a tool that takes text. Text also where the model wrote
    /// broken JSON.
    pub input: Value,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ToolAnswer<'a> {
    pub success: bool,
    /// What the model will read; a long text is cut.
    pub text: &'a str,
    pub is_cut: bool,
}

/// The name of an event, as it is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookEventName {
    BeforeTool,
    AfterTool,
    OnSpawn,
    OnStop,
    OnApproval,
}

impl HookEvent<'_> {
    pub(super) fn moment(&self) -> HookEventName {
        match self {
            Self::BeforeTool { .. } => HookEventName::BeforeTool,
            Self::AfterTool { .. } => HookEventName::AfterTool,
            Self::OnSpawn { .. } => HookEventName::OnSpawn,
            Self::OnStop { .. } => HookEventName::OnStop,
            Self::OnApproval { .. } => HookEventName::OnApproval,
        }
    }
}

impl fmt::Display for HookEventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforeTool => "before_tool",
            Self::AfterTool => "after_tool",
            Self::OnSpawn => "on_spawn",
            Self::OnStop => "on_stop",
            Self::OnApproval => "on_approval",
        })
    }
}
