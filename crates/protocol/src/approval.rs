//! Questions that only a person can answer, and their answers.

mod in_full;

pub use in_full::in_full;

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::{FileChanges, ParsedCommand};
use crate::id::{AgentId, CallId, SessionId, SubmissionId};
use crate::input::is_blank;

/// A person's word on a command or a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum ReviewDecision {
    #[serde(alias = "allow")]
    Approved,
    /// Approved, and the same thing is not asked again in this session.
    ApprovedForSession,
    /// Approved, and a rule that allows the same words is added to the user's rules.
    ApprovedAlways,
    /// The model is told, and goes on.
    #[serde(alias = "deny")]
    Denied,
    /// Denied, and the task is interrupted.
    Abort,
}

impl ReviewDecision {
    /// Returns its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::ApprovedForSession => "approved_for_session",
            Self::ApprovedAlways => "approved_always",
            Self::Denied => "denied",
            Self::Abort => "abort",
        }
    }
}

/// The agent of a tree that asks, when it is another one than the one whose queue this is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentLabel {
    pub agent_id: AgentId,
    pub path: String,
    pub session_id: SessionId,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ExecApprovalRequest {
    /// Answer with this id.
    pub call_id: CallId,
    pub turn_id: SubmissionId,
    pub command: Vec<String>,
    pub cwd: PathBuf,
    /// Why the engine or the model asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub parsed_cmd: Vec<ParsedCommand>,
    pub available_decisions: Vec<ReviewDecision>,
    /// A yes runs it without the sandbox that the session's commands have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside_sandbox: bool,
    /// What `approved_always` would add to the user's rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposed_rules: Vec<ProposedRule>,
    /// Absent for the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentLabel>,
}

/// A rule that allows every command which begins with these words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ProposedRule {
    pub prefix: Vec<String>,
    /// They then run without the sandbox.
    #[serde(default)]
    pub outside_sandbox: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct PatchApprovalRequest {
    /// Answer with this id.
    pub call_id: CallId,
    pub turn_id: SubmissionId,
    pub changes: FileChanges,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The directory that would have to become writable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_root: Option<PathBuf>,
    /// Absent for the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentLabel>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct UserInputRequest {
    /// Answer with this id.
    pub call_id: CallId,
    pub turn_id: SubmissionId,
    pub questions: Vec<Question>,
    /// Absent for the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentLabel>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Question {
    /// Names the answer (snake case).
    pub id: String,
    /// At most twelve characters.
    pub header: String,
    pub question: String,
    /// Offers a free answer besides the options.
    #[serde(default, rename = "isOther")]
    pub is_other: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<QuestionOption>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct QuestionOption {
    pub value: String,
    pub label: String,
    pub description: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct UserInputResponse {
    /// By the id of the question. Questions may be left out; without any answer the model is
    /// told that none was given.
    pub answers: BTreeMap<String, Answer>,
}

impl UserInputResponse {
    /// Returns what was said: an answer that chooses nothing and says nothing is none.
    #[must_use]
    pub fn without_empty_answers(self) -> Self {
        let said = |(id, answer): (String, Answer)| {
            let other = answer.other.filter(|text| !is_blank(text));
            let is_empty = answer.selected.is_empty() && other.is_none();
            (!is_empty).then_some((id, Answer { other, ..answer }))
        };
        Self {
            answers: self.answers.into_iter().filter_map(said).collect(),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Answer {
    /// The value of the option that was chosen. Options exclude each other.
    #[serde(default)]
    pub selected: Vec<String>,
    /// Free text, where the question offers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<String>,
}
