//! Questions that only a person can answer.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use troupe_protocol::SessionId;
use troupe_protocol::approval::{Answer, ReviewDecision};

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ApprovalPage {
    /// Oldest first, of all trees that are in memory.
    pub data: Vec<ApprovalView>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ApprovalView {
    pub id: String,
    pub root_session_id: SessionId,
    pub session_id: SessionId,
    pub path: String,
    pub task_id: String,
    /// `exec`, `patch` or `question`.
    pub kind: &'static str,
    /// The beginning of the command, the files or the question, in one line.
    pub what: String,
    pub asked_at: String,
    /// All of what is asked, as the protocol has it; an answer is refused while it cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Value>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecisionRequest {
    /// For a command or a patch.
    pub decision: Option<ReviewDecision>,
    /// For a question: the answers by the ids of its questions.
    pub answers: Option<BTreeMap<String, Answer>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DecisionBatchRequest {
    /// At most 200.
    pub ids: Vec<String>,
    /// The same for all of them.
    pub decision: ReviewDecision,
}

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct DecisionView {
    pub id: String,
    /// `answered` for a question.
    pub decision: String,
    /// Who gave it, as the client calls itself; absent for one that was given elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    pub at: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DecisionBatchView {
    pub decided: Vec<DecisionView>,
    /// Those that were not taken, each with its own problem.
    pub refused: Vec<DecisionRefusal>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DecisionRefusal {
    pub id: String,
    pub problem: crate::Problem,
}
