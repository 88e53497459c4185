//! Notifications: what the server sends to clients unasked.

use serde::Serialize;

use super::account::AccountRateLimitsUpdatedNotification;
use super::command::CommandExecOutputDeltaNotification;
use super::files::FsChangedNotification;
use super::item::ThreadItem;
use super::search::{
    FuzzyFileSearchSessionCompletedNotification, FuzzyFileSearchSessionUpdatedNotification,
};
use super::thread::{Thread, ThreadStatus};
use super::tree::{AgentInboxNotification, TreeChangedNotification};
use super::turn::{Turn, TurnError};

/// Declares the list of notifications: the name of each on the wire, and what it carries.
macro_rules! notifications {
    ($($name:ident($payload:ident) = $method:literal,)*) => {
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(tag = "method", content = "params")]
        #[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
        pub enum ServerNotification {
            $(#[serde(rename = $method)] $name($payload),)*
        }

        impl ServerNotification {
            /// Returns the name by which clients know it, and opt out of it.
            pub fn method(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => $method,)*
                }
            }
        }
    };
}

notifications! {
    Error(ErrorNotification) = "error",
    Warning(WarningNotification) = "warning",
    DeprecationNotice(DeprecationNotification) = "deprecationNotice",
    ThreadStarted(ThreadStartedNotification) = "thread/started",
    ThreadStatusChanged(ThreadStatusChangedNotification) = "thread/status/changed",
    ThreadArchived(ThreadIdNotification) = "thread/archived",
    ThreadUnarchived(ThreadIdNotification) = "thread/unarchived",
    ThreadDeleted(ThreadIdNotification) = "thread/deleted",
    ThreadClosed(ThreadIdNotification) = "thread/closed",
    ThreadNameUpdated(ThreadNameUpdatedNotification) = "thread/name/updated",
    ThreadNoteUpdated(ThreadNoteUpdatedNotification) = "thread/note/updated",
    ThreadTokenUsageUpdated(TokenUsageUpdatedNotification) = "thread/tokenUsage/updated",
    TurnStarted(TurnNotification) = "turn/started",
    TurnCompleted(TurnNotification) = "turn/completed",
    TurnDiffUpdated(TurnDiffUpdatedNotification) = "turn/diff/updated",
    TurnPlanUpdated(TurnPlanUpdatedNotification) = "turn/plan/updated",
    ItemStarted(ItemStartedNotification) = "item/started",
    ItemCompleted(ItemCompletedNotification) = "item/completed",
    AgentMessageDelta(TextDeltaNotification) = "item/agentMessage/delta",
    PlanDelta(PlanDeltaNotification) = "item/plan/delta",
    ReasoningSummaryDelta(SummaryDeltaNotification) = "item/reasoning/summaryTextDelta",
    ReasoningSummaryPart(SummaryPartNotification) = "item/reasoning/summaryPartAdded",
    ReasoningDelta(ContentDeltaNotification) = "item/reasoning/textDelta",
    CommandOutputDelta(TextDeltaNotification) = "item/commandExecution/outputDelta",
    TerminalInteraction(TerminalNotification) = "item/commandExecution/terminalInteraction",
    McpToolCallProgress(ProgressNotification) = "item/mcpToolCall/progress",
    McpServerStatus(McpServerStatusNotification) = "mcpServer/startupStatus/updated",
    CommandExecOutputDelta(CommandExecOutputDeltaNotification) = "command/exec/outputDelta",
    FsChanged(FsChangedNotification) = "fs/changed",
    FuzzyFileSearchSessionUpdated(FuzzyFileSearchSessionUpdatedNotification) = "fuzzyFileSearch/sessionUpdated",
    FuzzyFileSearchSessionCompleted(FuzzyFileSearchSessionCompletedNotification) = "fuzzyFileSearch/sessionCompleted",
    AccountRateLimitsUpdated(AccountRateLimitsUpdatedNotification) = "account/rateLimits/updated",
    TreeChanged(TreeChangedNotification) = "tree/changed",
    AgentInbox(AgentInboxNotification) = "agent/inbox",
    ServerRequestResolved(ResolvedNotification) = "serverRequest/resolved",
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ErrorNotification {
    pub thread_id: String,
    pub turn_id: String,
    pub error: TurnError,
    pub will_retry: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct WarningNotification {
    pub thread_id: Option<String>,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct DeprecationNotification {
    pub summary: String,
    pub details: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadStartedNotification {
    pub thread: Box<Thread>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadStatusChangedNotification {
    pub thread_id: String,
    pub status: ThreadStatus,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadIdNotification {
    pub thread_id: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadNameUpdatedNotification {
    pub thread_id: String,
    pub thread_name: Option<String>,
}

/// Ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadNoteUpdatedNotification {
    pub thread_id: String,
    pub thread_note: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TokenUsageUpdatedNotification {
    pub thread_id: String,
    pub turn_id: String,
    pub token_usage: ThreadTokenUsage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ThreadTokenUsage {
    pub total: TokenUsageBreakdown,
    pub last: TokenUsageBreakdown,
    pub model_context_window: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[expect(clippy::struct_field_names, reason = "the names are those of the wire")]
pub struct TokenUsageBreakdown {
    pub total_tokens: u64,
    pub input_tokens: u64,
    pub cached_input_tokens: u64,
    pub cache_write_input_tokens: u64,
    pub output_tokens: u64,
    pub reasoning_output_tokens: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnNotification {
    pub thread_id: String,
    pub turn: Turn,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnDiffUpdatedNotification {
    pub thread_id: String,
    pub turn_id: String,
    /// Of the whole turn.
    pub diff: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnPlanUpdatedNotification {
    pub thread_id: String,
    pub turn_id: String,
    pub explanation: Option<String>,
    pub plan: Vec<TurnPlanStep>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnPlanStep {
    pub step: String,
    pub status: TurnPlanStepStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum TurnPlanStepStatus {
    Pending,
    InProgress,
    Completed,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ItemStartedNotification {
    pub thread_id: String,
    pub turn_id: String,
    pub item: ThreadItem,
    pub started_at_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ItemCompletedNotification {
    pub thread_id: String,
    pub turn_id: String,
    pub item: ThreadItem,
    pub completed_at_ms: i64,
}

/// A piece of a text; all pieces together are the text.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TextDeltaNotification {
    pub thread_id: String,
    pub turn_id: String,
    pub item_id: String,
    pub delta: String,
}

/// EXPERIMENTAL: a piece of a proposed plan. All pieces together may differ from the text of the
/// completed plan item, which counts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct PlanDeltaNotification {
    pub thread_id: String,
    pub turn_id: String,
    pub item_id: String,
    pub delta: String,
}

impl From<TextDeltaNotification> for PlanDeltaNotification {
    fn from(delta: TextDeltaNotification) -> Self {
        let TextDeltaNotification {
            thread_id,
            turn_id,
            item_id,
            delta,
        } = delta;
        Self {
            thread_id,
            turn_id,
            item_id,
            delta,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SummaryDeltaNotification {
    pub thread_id: String,
    pub turn_id: String,
    pub item_id: String,
    pub delta: String,
    pub summary_index: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SummaryPartNotification {
    pub thread_id: String,
    pub turn_id: String,
    pub item_id: String,
    pub summary_index: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ContentDeltaNotification {
    pub thread_id: String,
    pub turn_id: String,
    pub item_id: String,
    pub delta: String,
    pub content_index: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TerminalNotification {
    pub thread_id: String,
    pub turn_id: String,
    pub item_id: String,
    pub process_id: String,
    pub stdin: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ProgressNotification {
    pub thread_id: String,
    pub turn_id: String,
    pub item_id: String,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct McpServerStatusNotification {
    pub thread_id: Option<String>,
    pub name: String,
    pub status: McpServerStatus,
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum McpServerStatus {
    Starting,
    Ready,
    Failed,
    Cancelled,
}

/// A request of the server needs no answer any more.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ResolvedNotification {
    pub thread_id: String,
    pub request_id: i64,
}
