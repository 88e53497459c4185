//! How a conversation is kept: one JSON object per line, `{timestamp, type, payload}`.
//!
//! The log comes first; everything else (index, tree, inboxes) is derived from it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::EventMsg;
use crate::history::ResponseItem;
use crate::id::{ClientId, ResponseId, SessionId, SubmissionId};
use crate::link::SecretDigest;
use crate::policy::Personality;
use crate::session::{GitInfo, SessionSource, TurnContext};
use crate::tool::DynamicTool;
use crate::tree::AgentLine;
use crate::undo::FileFact;
use crate::usage::TokenUsage;

/// The payload of one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "payload", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "records are handled one at a time; a box would cost each event an allocation"
)]
#[non_exhaustive]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum RolloutRecord {
    /// The first line.
    SessionMeta(Box<SessionMeta>),
    TurnContext(TurnContext),
    ResponseItem(ResponseItem),
    /// The history up to here, replaced. Resume reads backwards to the newest one.
    Compacted(Box<CompactionRecord>),
    EventMsg(EventRecord),
    /// What lies between `to` and this line is on another branch. Readers that go
    /// backwards jump to `to`.
    Rewind(Box<RewindRecord>),
    /// A fact of the agent tree. A completion is one of these: result, status, callback.
    Agent(Box<AgentLine>),
    /// What was seen of the files that the session works on.
    Files(Box<FileFact>),
    /// No event below this number is issued again, also not after a crash.
    SeqReserved {
        until: u64,
    },
    /// Who asked for the task that may follow.
    Submitted(SubmittedTask),
    /// The shape that a client's task asks for its answer in, where it differs from the one before.
    /// Whoever has the task go on later asks for the same.
    AnswerShape {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output_schema: Option<Value>,
    },
}

/// A submission that begins a task, and the client that it is of. A client which repeats what
/// it does not know to have arrived is known by it after a crash too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SubmittedTask {
    pub id: SubmissionId,
    pub client: ClientId,
    pub secret_digest: SecretDigest,
}

/// The name of a record's kind, as it stands in `type`.
impl RolloutRecord {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SessionMeta(_) => "session_meta",
            Self::TurnContext(_) => "turn_context",
            Self::ResponseItem(_) => "response_item",
            Self::Compacted(_) => "compacted",
            Self::EventMsg(_) => "event_msg",
            Self::Rewind(_) => "rewind",
            Self::Agent(_) => "agent",
            Self::Files(_) => "files",
            Self::SeqReserved { .. } => "seq_reserved",
            Self::Submitted(_) => "submitted",
            Self::AnswerShape { .. } => "answer_shape",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SessionMeta {
    pub id: SessionId,
    /// RFC 3339 with milliseconds, UTC.
    pub timestamp: String,
    pub cwd: std::path::PathBuf,
    /// The program that opened the session, such as an SDK's name.
    pub originator: String,
    pub cli_version: String,
    pub source: SessionSource,
    pub model_provider: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from_id: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_instructions: Option<String>,
    /// What the model is told as a developer's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub developer_instructions: Option<String>,
    /// The manner that the instructions were filled with when the session began. A later
    /// one is told in the history, so that what came before stays as it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub personality: Option<Personality>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitInfo>,
    /// Set if another agent had this conversation before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_from: Option<ImportedFrom>,
    /// The tools that the client which opened the session runs itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dynamic_tools: Vec<DynamicTool>,
}

/// The conversation of another agent that a session took over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ImportedFrom {
    pub agent: ForeignAgent,
    /// As the other agent names the conversation.
    pub id: String,
    /// How long the other agent's file was. It may have gone on since then.
    pub bytes: u64,
}

/// An agent whose conversations can be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ForeignAgent {
    Codex,
    Claude,
}

impl ForeignAgent {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
        }
    }
}

/// An event as it is kept. Its older-name projections are not kept: they follow from it
/// and take the sequence numbers after `seq`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct EventRecord {
    pub id: SubmissionId,
    pub seq: u64,
    pub msg: EventMsg,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(test, schemars(rename = "Compacted"), ts(rename = "Compacted"))]
pub struct CompactionRecord {
    /// The model's summary.
    pub message: String,
    pub replacement_history: Vec<ResponseItem>,
    /// What a reader that stops here must know of the lines before.
    pub carried: CarriedState,
}

/// The session's state beside its history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CarriedState {
    pub turn_context: TurnContext,
    pub total_token_usage: TokenUsage,
    pub seq_reserved_until: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_response_id: Option<ResponseId>,
    /// There are `agent` lines in the log.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_agents: bool,
    /// As in the newest `answer_shape` line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
#[cfg_attr(test, schemars(rename = "Rewind"), ts(rename = "Rewind"))]
pub struct RewindRecord {
    /// Byte offset just after the last line that stays.
    pub to: u64,
    pub reason: RewindReason,
    /// What a reader that jumps over the lines between must know of them.
    pub carried: CarriedState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum RewindReason {
    /// `thread_rollback`.
    Rollback { num_turns: u32 },
    /// A task continues from this bookmark.
    Bookmark { response_id: ResponseId },
    /// An undo was taken back before the model had heard of it: what it was told is left out.
    Redone,
}
