//! Turns.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use troupe_protocol::TaskOutcome;
use troupe_protocol::outcome::OutcomeClass;

use super::input::UserInput;
use super::item::ThreadItem;
use super::policy::{
    ApprovalsReviewer, AskForApproval, CollaborationMode, Personality, ReasoningEffort,
    ReasoningSummary, SandboxPolicy,
};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Turn {
    pub id: String,
    pub items: Vec<ThreadItem>,
    pub items_view: ItemsView,
    pub status: TurnStatus,
    pub error: Option<TurnError>,
    /// Unix seconds.
    pub started_at: Option<i64>,
    /// Unix seconds.
    pub completed_at: Option<i64>,
    pub duration_ms: Option<i64>,
}

/// How much of a turn's items is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ItemsView {
    NotLoaded,
    Summary,
    Full,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum TurnStatus {
    InProgress,
    Completed,
    Interrupted,
    Failed,
}

impl From<TaskOutcome> for TurnStatus {
    fn from(outcome: TaskOutcome) -> Self {
        match outcome.class() {
            OutcomeClass::Completed => Self::Completed,
            OutcomeClass::Failed => Self::Failed,
            // Clients know no cancelled turn.
            OutcomeClass::Interrupted | OutcomeClass::Cancelled => Self::Interrupted,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnError {
    pub message: String,
    pub codex_error_info: Option<CodexErrorInfo>,
    pub additional_details: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum CodexErrorInfo {
    ContextWindowExceeded,
    UsageLimitExceeded,
    ServerOverloaded,
    HttpConnectionFailed { http_status_code: Option<u16> },
    ResponseStreamConnectionFailed { http_status_code: Option<u16> },
    ResponseStreamDisconnected { http_status_code: Option<u16> },
    ResponseTooManyFailedAttempts { http_status_code: Option<u16> },
    InternalServerError,
    Unauthorized,
    BadRequest,
    ThreadRollbackFailed,
    SandboxError,
    Other,
}

/// What begins a turn. What is given beside the input becomes the thread's setting.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnStartParams {
    pub thread_id: String,
    /// The client's own name for the message, which its item repeats as `clientId`.
    #[serde(default)]
    pub client_user_message_id: Option<String>,
    /// Nothing has the model go on with what it was not answered to, such as injected items.
    pub input: Vec<UserInput>,
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    #[serde(default)]
    pub approval_policy: Option<AskForApproval>,
    #[serde(default)]
    pub approvals_reviewer: Option<ApprovalsReviewer>,
    #[serde(default)]
    pub sandbox_policy: Option<SandboxPolicy>,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub effort: Option<ReasoningEffort>,
    #[serde(default)]
    pub summary: Option<ReasoningSummary>,
    #[serde(default)]
    pub personality: Option<Personality>,
    /// Told to the model as a developer's message, in the place of those that the thread was opened
    /// with. Ours.
    #[serde(default)]
    pub developer_instructions: Option<String>,
    /// The JSON Schema that the last answer must fit.
    #[serde(default)]
    pub output_schema: Option<Value>,
    /// Experimental.
    #[serde(default)]
    pub collaboration_mode: Option<CollaborationMode>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnStartResponse {
    pub turn: Turn,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnSteerParams {
    pub thread_id: String,
    /// The client's own name for the message, which its item repeats as `clientId`.
    #[serde(default)]
    pub client_user_message_id: Option<String>,
    pub input: Vec<UserInput>,
    /// The turn that the input is meant for; another one is not touched.
    pub expected_turn_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnSteerResponse {
    pub turn_id: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnInterruptParams {
    pub thread_id: String,
    pub turn_id: String,
}

#[cfg(test)]
mod tests {
    use troupe_protocol::TaskOutcome;
    use troupe_protocol::event::AbortReason;

    use super::TurnStatus;

    /// The live translation and the stored history both ask this table.
    #[test]
    fn a_turn_that_the_engine_did_not_survive_is_interrupted_and_not_failed() {
        let status = |reason| TurnStatus::from(TaskOutcome::from(reason));
        for reason in [
            AbortReason::Crash,
            AbortReason::Shutdown,
            AbortReason::Interrupted,
            AbortReason::Replaced,
            AbortReason::ReviewEnded,
        ] {
            assert_eq!(status(reason), TurnStatus::Interrupted, "{reason:?}");
        }
        for reason in [AbortReason::Error, AbortReason::BudgetLimited] {
            assert_eq!(status(reason), TurnStatus::Failed, "{reason:?}");
        }
    }
}
