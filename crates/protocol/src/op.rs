//! What a client may ask of a session.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::approval::{ReviewDecision, UserInputResponse};
use crate::history::ResponseItem;
use crate::id::{ResponseId, SessionId, SubmissionId};
use crate::input::UserInput;
use crate::session::{SessionSource, TurnOverrides};
use crate::undo::UndoRequest;

/// One message of the submission queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Submission {
    pub id: SubmissionId,
    pub op: Op,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum Op {
    /// Opens the session, or reconfigures it. Must come first.
    ConfigureSession(ConfigureSession),
    /// Starts a task with the session's current settings. Older form of `user_turn`.
    UserInput {
        items: Vec<UserInput>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        final_output_json_schema: Option<Value>,
        /// Continue from this bookmark; what came after it is left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_response_id: Option<ResponseId>,
    },
    /// Starts a task; the overrides become the session's settings.
    UserTurn {
        items: Vec<UserInput>,
        #[serde(flatten)]
        overrides: TurnOverrides,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        final_output_json_schema: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_response_id: Option<ResponseId>,
        /// The client's own name for the message, which its item repeats.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_id: Option<String>,
    },
    /// Adds input at the next model request of the running task, without aborting it.
    Steer {
        items: Vec<UserInput>,
        /// The client's own name for the message, which its item repeats.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_id: Option<String>,
    },
    /// Adds items to what the model knows, as they are, without starting a task. They are shown
    /// to nobody. Answered with `items_injected`.
    InjectItems {
        items: Vec<ResponseItem>,
    },
    Interrupt,
    /// Changes settings without starting a task.
    OverrideTurnContext {
        #[serde(flatten)]
        overrides: TurnOverrides,
    },
    /// Answers `exec_approval_request`; `id` is its `call_id`.
    ExecApproval {
        id: String,
        decision: ReviewDecision,
    },
    /// Answers `apply_patch_approval_request`; `id` is its `call_id`.
    PatchApproval {
        id: String,
        decision: ReviewDecision,
    },
    /// Answers `request_user_input`; `id` is its `call_id`.
    #[serde(alias = "request_user_input_response")]
    UserInputAnswer {
        id: String,
        response: UserInputResponse,
    },
    ResolveElicitation {
        server_name: String,
        request_id: String,
        decision: ElicitationDecision,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Value>,
    },
    /// Runs a command as the user, and lets the model see it.
    RunUserShellCommand {
        command: String,
    },
    /// Replaces the history by a summary now.
    Compact,
    /// Takes the last turns out of the history. Files stay as they are.
    ThreadRollback {
        num_turns: u32,
    },
    SetThreadName {
        name: String,
    },
    /// An empty note clears it.
    SetThreadNote {
        note: String,
    },
    Review {
        review_request: ReviewRequest,
    },
    ListSkills {
        #[serde(default)]
        cwds: Vec<PathBuf>,
        #[serde(default)]
        force_reload: bool,
    },
    /// Answered with `list_models_response`.
    ListModels {
        /// Ask the provider; without an answer the built-in list is given, with a note.
        #[serde(default)]
        refresh: bool,
    },
    ListMcpTools,
    RefreshMcpServers,
    /// Brings files back to what they were before the last turns. The history stays as it is.
    Undo(UndoRequest),
    Shutdown,
}

/// How a session is opened. Everything absent comes from the configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ConfigureSession {
    #[serde(flatten)]
    pub overrides: TurnOverrides,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_provider: Option<String>,
    /// Replaces the built-in instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_instructions: Option<String>,
    /// Told to the model as a developer's message, before the user speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub developer_instructions: Option<String>,
    /// Continue this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<SessionId>,
    /// Begin a new session with the history of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<ForkPoint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SessionSource>,
    /// Nothing is written to disk.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ephemeral: bool,
    /// Settings for this session and its children, by their keys in the configuration, whose
    /// place they take.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub config: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ForkPoint {
    pub session_id: SessionId,
    /// The bookmark to fork at; the end if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_response_id: Option<ResponseId>,
    /// Only this many of the last turns; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u32>,
    /// The turn to fork at, in the place of a bookmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<ForkTurn>,
}

/// A turn that a fork is made at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ForkTurn {
    /// The last turn that the fork has. It must have ended.
    Through(SubmissionId),
    /// The first turn that the fork does not have.
    Before(SubmissionId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ElicitationDecision {
    Accept,
    Decline,
    Cancel,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ReviewRequest {
    pub target: ReviewTarget,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_facing_hint: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ReviewTarget {
    UncommittedChanges,
    BaseBranch {
        branch: String,
    },
    Commit {
        sha: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    Custom {
        instructions: String,
    },
}
