//! What a client is told.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::{
    AgentInbox, CollabInteraction, CollabSpawnBegin, CollabSpawnEnd, CollabWaiting,
    SubagentLifecycle,
};
use crate::approval::{
    ExecApprovalRequest, PatchApprovalRequest, ReviewDecision, UserInputRequest, UserInputResponse,
};
use crate::catalogue::ModelList;
use crate::command::{
    CommandSource, FileChanges, OutputStream, ParsedCommand, PlanStep, WorkStatus,
};
use crate::error::ErrorInfo;
use crate::history::ResponseItem;
use crate::id::{CallId, ItemId, ResponseId, SessionId, SubmissionId};
use crate::input::UserInput;
use crate::item::{CommandOutcome, TurnItem};
use crate::mcp::{ElicitationRequest, McpOffer};
use crate::op::{ElicitationDecision, ReviewTarget};
use crate::session::TurnContext;
use crate::tree::MessageMetadata;
use crate::undo::UndoCompleted;
use crate::usage::{RateLimitSnapshot, TokenUsage, TokenUsageInfo};

/// One message of the event queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Event {
    /// The submission that started the task this belongs to; empty when there is none.
    pub id: SubmissionId,
    /// Grows with each event of the session and is never reused.
    #[serde(default)]
    pub seq: u64,
    pub msg: EventMsg,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(not(feature = "closed"), non_exhaustive)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum EventMsg {
    // The session
    SessionConfigured(Box<SessionConfigured>),
    ThreadNameUpdated {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread_name: Option<String>,
    },
    ThreadNoteUpdated {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread_note: Option<String>,
    },
    TurnContextUpdated(TurnContext),
    ShutdownComplete,

    // The task
    #[serde(rename = "task_started", alias = "turn_started")]
    TurnStarted(TurnStarted),
    #[serde(rename = "task_complete", alias = "turn_complete")]
    TurnComplete(TurnComplete),
    TurnAborted(TurnAborted),
    /// One model cycle is over, its tools included: the bookmark.
    ResponseCompleted {
        turn_id: SubmissionId,
        response_id: ResponseId,
        usage: TokenUsage,
    },
    /// The answer to `steer`.
    SteerReceipt(SteerReceipt),
    TokenCount {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        info: Option<TokenUsageInfo>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rate_limits: Option<RateLimitSnapshot>,
    },
    ContextCompacted,
    ThreadRolledBack {
        num_turns: u32,
    },
    /// The answer to `inject_items`. What could not be told to the model at once, because a
    /// task runs, is told with its next request.
    ItemsInjected {
        items: Vec<ResponseItem>,
    },
    UndoStarted {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    UndoCompleted(UndoCompleted),

    // Troubles
    Error(ErrorEvent),
    /// The connection to the model broke; it is being tried again.
    StreamError(StreamErrorEvent),
    Warning {
        message: String,
    },
    DeprecationNotice {
        summary: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<String>,
    },
    BackgroundEvent(BackgroundEvent),

    // Items, and the older names of what happens to them
    ItemStarted {
        thread_id: SessionId,
        turn_id: SubmissionId,
        item: TurnItem,
        started_at_ms: i64,
    },
    ItemCompleted {
        thread_id: SessionId,
        turn_id: SubmissionId,
        item: TurnItem,
        completed_at_ms: i64,
    },
    AgentMessageContentDelta(TextDelta),
    /// EXPERIMENTAL: a piece of a proposed plan. All pieces together may differ from the completed
    /// plan item, whose text counts.
    PlanDelta(TextDelta),
    ReasoningContentDelta(TextDelta),
    ReasoningRawContentDelta(TextDelta),
    AgentReasoningSectionBreak {
        item_id: ItemId,
        summary_index: u32,
    },
    UserMessage {
        message: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        content: Vec<UserInput>,
        /// Set if the engine wrote the message for a child that ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        metadata: Option<MessageMetadata>,
    },
    AgentMessage {
        message: String,
    },
    AgentReasoning {
        text: String,
    },
    AgentReasoningRawContent {
        text: String,
    },

    // Tools
    ExecCommandBegin(ExecCommandBegin),
    ExecCommandOutputDelta(ExecCommandOutputDelta),
    TerminalInteraction {
        call_id: CallId,
        process_id: String,
        stdin: String,
    },
    ExecCommandEnd(Box<ExecCommandEnd>),
    PatchApplyBegin {
        call_id: CallId,
        turn_id: SubmissionId,
        auto_approved: bool,
        changes: FileChanges,
    },
    PatchApplyEnd {
        call_id: CallId,
        turn_id: SubmissionId,
        stdout: String,
        stderr: String,
        success: bool,
        changes: FileChanges,
        status: WorkStatus,
    },
    PlanUpdate {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        explanation: Option<String>,
        plan: Vec<PlanStep>,
    },
    /// What the patches of the task come to so far, in git's format, with paths from the
    /// working directory. Each takes the place of the one before.
    TurnDiff {
        unified_diff: String,
    },
    ViewImageToolCall {
        call_id: CallId,
        path: PathBuf,
    },
    McpStartupUpdate {
        server: String,
        status: McpStartupStatus,
    },
    McpStartupComplete {
        ready: Vec<String>,
        failed: Vec<McpStartupFailure>,
        cancelled: Vec<String>,
    },
    McpToolCallBegin {
        call_id: CallId,
        invocation: McpInvocation,
    },
    McpToolCallEnd {
        call_id: CallId,
        invocation: McpInvocation,
        duration_ms: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },

    /// How far a server says it is with a call.
    McpToolCallProgress {
        call_id: CallId,
        progress: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },

    // Questions
    ExecApprovalRequest(ExecApprovalRequest),
    ApplyPatchApprovalRequest(PatchApprovalRequest),
    RequestUserInput(UserInputRequest),
    /// An approval request was answered, or its task ended first (`abort`).
    ApprovalResolved {
        call_id: CallId,
        decision: ReviewDecision,
    },
    /// Questions were answered; without a response they were withdrawn, or there is nobody to
    /// answer.
    UserInputResolved {
        call_id: CallId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response: Option<UserInputResponse>,
    },
    ElicitationRequest(ElicitationRequest),
    /// A server's question was answered, or withdrawn (`cancel`). What was filled in goes to
    /// the server alone.
    ElicitationResolved {
        id: CallId,
        decision: ElicitationDecision,
    },

    // Review
    EnteredReviewMode {
        target: ReviewTarget,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user_facing_hint: Option<String>,
    },
    ExitedReviewMode {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        review_output: Option<ReviewOutput>,
    },

    // Answers to list requests
    ListSkillsResponse {
        skills: Vec<SkillsEntry>,
    },
    ListModelsResponse(ModelList),
    McpListToolsResponse(Box<McpOffer>),

    // Other agents
    SubagentLifecycle(SubagentLifecycle),
    AgentInbox(AgentInbox),
    CollabAgentSpawnBegin(CollabSpawnBegin),
    CollabAgentSpawnEnd(CollabSpawnEnd),
    CollabAgentInteractionBegin(CollabInteraction),
    CollabAgentInteractionEnd(CollabInteraction),
    CollabWaitingBegin(CollabWaiting),
    CollabWaitingEnd(CollabWaiting),
    CollabCloseBegin(CollabInteraction),
    CollabCloseEnd(CollabInteraction),
    CollabResumeBegin(CollabInteraction),
    CollabResumeEnd(CollabInteraction),
}

impl EventMsg {
    /// Tells whether this is a piece of something that comes whole later, or only another view
    /// of what is told. Neither is ever written to the rollout.
    pub fn is_delta(&self) -> bool {
        matches!(
            self,
            Self::AgentMessageContentDelta(_)
                | Self::PlanDelta(_)
                | Self::ReasoningContentDelta(_)
                | Self::ReasoningRawContentDelta(_)
                | Self::AgentReasoningSectionBreak { .. }
                | Self::ExecCommandOutputDelta(_)
                | Self::McpToolCallProgress { .. }
                | Self::TurnDiff { .. }
        )
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SessionConfigured {
    pub session_id: SessionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_note: Option<String>,
    pub model_provider_id: String,
    #[serde(flatten)]
    pub context: TurnContext,
    /// How many messages the history begins with.
    pub history_entry_count: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout_path: Option<PathBuf>,
    /// The files whose instructions the model is told, such as AGENTS.md.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instruction_sources: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnStarted {
    pub turn_id: SubmissionId,
    pub started_at_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_context_window: Option<u64>,
    #[serde(default)]
    pub collaboration_mode_kind: crate::policy::CollaborationMode,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnComplete {
    pub turn_id: SubmissionId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_agent_message: Option<String>,
    /// The last bookmark of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<ResponseId>,
    pub duration_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnAborted {
    pub turn_id: SubmissionId,
    pub reason: AbortReason,
    /// What the model had said last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_agent_message: Option<String>,
    /// The last bookmark of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<ResponseId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(not(feature = "closed"), non_exhaustive)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum AbortReason {
    Interrupted,
    /// New input or a new configuration took its place.
    Replaced,
    /// A fatal error, told in the event before.
    Error,
    /// The engine died while the task ran; found on resume.
    Crash,
    ReviewEnded,
    BudgetLimited,
    Shutdown,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum SteerReceipt {
    /// It goes with the next model request of this task.
    Queued {
        turn_id: SubmissionId,
        position: u32,
    },
    /// It is part of the history now.
    Delivered { turn_id: SubmissionId },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ErrorEvent {
    pub message: String,
    /// A fatal error ends the task: `turn_aborted` comes next.
    #[serde(default)]
    pub fatal: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_info: Option<ErrorInfo>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct StreamErrorEvent {
    pub message: String,
    pub attempt: u32,
    pub attempts_max: u32,
    pub retry_in_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_info: Option<ErrorInfo>,
}

/// Something that happened beside the task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct BackgroundEvent {
    pub message: String,
    #[serde(default)]
    pub is_final: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TextDelta {
    pub thread_id: SessionId,
    pub turn_id: SubmissionId,
    pub item_id: ItemId,
    pub delta: String,
    /// The delta is the whole text so far: what was shown of this item is to be replaced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub snapshot: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ExecCommandBegin {
    pub call_id: CallId,
    pub turn_id: SubmissionId,
    pub command: Vec<String>,
    pub cwd: PathBuf,
    pub parsed_cmd: Vec<ParsedCommand>,
    #[serde(default)]
    pub source: CommandSource,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ExecCommandOutputDelta {
    pub call_id: CallId,
    pub stream: OutputStream,
    /// Base64: output need not be UTF-8.
    pub chunk: String,
}

/// A command is over, or goes on without its call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ExecCommandEnd {
    #[serde(flatten)]
    pub begin: ExecCommandBegin,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_id: Option<String>,
    #[serde(flatten)]
    pub outcome: CommandOutcome,
    pub status: WorkStatus,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum McpStartupStatus {
    Starting,
    Ready,
    Failed { error: String },
    Cancelled,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct McpStartupFailure {
    pub server: String,
    pub error: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct McpInvocation {
    pub server: String,
    pub tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ReviewOutput {
    pub findings: Vec<ReviewFinding>,
    pub overall_correctness: String,
    pub overall_explanation: String,
    pub overall_confidence_score: f32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ReviewFinding {
    pub title: String,
    pub body: String,
    pub confidence_score: f32,
    pub priority: u8,
    pub code_location: CodeLocation,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CodeLocation {
    pub absolute_file_path: PathBuf,
    pub line_range: LineRange,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct LineRange {
    pub start: u32,
    pub end: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SkillsEntry {
    pub cwd: PathBuf,
    pub skills: Vec<SkillSummary>,
    pub errors: Vec<SkillError>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SkillSummary {
    pub name: String,
    pub description: String,
    /// For a menu.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short_description: Option<String>,
    /// Its `SKILL.md`.
    pub path: PathBuf,
    pub scope: SkillScope,
}

/// Whose skill it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum SkillScope {
    /// The project's.
    Repo,
    User,
    /// The machine's.
    System,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SkillError {
    pub path: PathBuf,
    pub message: String,
}
