//! What a task came to: the record that outlives the agent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ErrorInfo;
use crate::id::{SessionId, SubmissionId};
use crate::usage::TokenUsage;

/// The result of one task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TaskResult {
    pub session_id: SessionId,
    pub task_id: SubmissionId,
    pub stop: StopReason,
    /// The last thing that the model said, also if the task was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_message: Option<String>,
    /// The answer under the schema that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<StructuredOutput>,
    pub evidence: Evidence,
}

impl TaskResult {
    /// Returns what there is to say about the task: the last message, or what went wrong.
    pub fn text(&self) -> Option<String> {
        match self.stop.error() {
            Some(message) => Some(message.to_owned()),
            None => self.last_message.clone(),
        }
    }
}

impl Evidence {
    /// Returns how long the task ran; none if its clock went backwards.
    pub fn ran_ms(&self) -> Option<u64> {
        u64::try_from(self.ended_at_ms - self.started_at_ms).ok()
    }
}

/// Why a task stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
#[cfg_attr(not(feature = "closed"), non_exhaustive)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum StopReason {
    Completed,
    Errored {
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        info: Option<ErrorInfo>,
    },
    /// The answer did not fit its schema, also not after it was asked for again.
    OutputInvalid {
        message: String,
    },
    /// The session could not be opened.
    FailedToStart {
        message: String,
    },
    Interrupted,
    Crash,
    Shutdown,
    Cancelled {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    BudgetExceeded,
    Replaced,
}

/// An answer that should be JSON of a certain shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum StructuredOutput {
    Valid { value: Value },
    Invalid { problems: Vec<String> },
}

/// What the engine saw, whatever the model says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Evidence {
    pub started_at_ms: i64,
    pub ended_at_ms: i64,
    pub usage: TokenUsage,
    /// Messages of the model.
    pub messages: u32,
    /// How often each tool was called.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_calls: BTreeMap<String, u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandEvidence>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileEvidence>,
    /// Entries left out of the two lists because there were too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u32,
    /// Children made during the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<SessionId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CommandEvidence {
    pub command: String,
    /// Absent if it did not run, was killed, or goes on in the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// A person or a policy said no, and it did not run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FileEvidence {
    #[serde(with = "crate::path")]
    #[cfg_attr(test, schemars(with = "String"), ts(as = "String"))]
    pub path: PathBuf,
    /// SHA-256 of the contents before the task touched it; absent if there was no file, or
    /// one that is too large to be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// SHA-256 of the contents when the task ended; absent if there is no file, or one that is
    /// too large to be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl Evidence {
    pub fn tool_use_count(&self) -> u32 {
        self.tool_calls.values().sum()
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over a reference"
)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}
