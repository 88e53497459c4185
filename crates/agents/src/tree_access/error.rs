//! Why something was not done. The texts are read by models: each says what to do instead.

use thiserror::Error;
use troupe_protocol::AgentId;
use troupe_protocol::agent::AgentStatus;
use troupe_schema::SchemaError;
use troupe_tree::{AgentAddressError, TreeRefusal};

use crate::callback::TemplateFault;
use crate::roles;
use crate::tree_access::AgentView;

#[derive(Debug, Error)]
pub enum TreeError {
    #[error(transparent)]
    Refused(#[from] TreeRefusal),
    #[error(transparent)]
    Address(#[from] AgentAddressError),
    #[error(transparent)]
    Role(#[from] roles::RoleError),
    #[error("output_schema: {0}")]
    OutputSchema(#[from] SchemaError),
    #[error("callback template: {0}")]
    Template(#[from] TemplateFault),
    #[error("Unknown model `{model}` for {tool}. Available models: {}", .known.join(", "))]
    UnknownModel {
        tool: &'static str,
        model: String,
        known: Vec<String>,
    },
    #[error(
        "Unknown model `{model}` for {tool}. Available models: {} (those that the \
         configuration, a role or the catalogue names: the provider's own list could not be read: \
         {why})", .known.join(", ")
    )]
    UnlistedModel {
        tool: &'static str,
        model: String,
        known: Vec<String>,
        why: String,
    },
    #[error(
        "Reasoning effort `{effort}` is not supported for model `{model}`. Supported reasoning \
         efforts: {}", .known.join(", ")
    )]
    UnsupportedEffort {
        model: String,
        effort: &'static str,
        known: Vec<&'static str>,
    },
    #[error("Models are being updated; try {tool} again in a moment.")]
    ModelsLoading { tool: &'static str },
    #[error("sandbox_mode {asked} is more than this agent has ({has}); ask for {has} or less")]
    WiderSandbox {
        asked: &'static str,
        has: &'static str,
    },
    #[error("{refusal} (the role {role} says `messages: {messages}`)")]
    Kept {
        refusal: TreeRefusal,
        role: String,
        messages: &'static str,
    },
    #[error("{0}")]
    Invalid(String),
    #[error("agent {0} has no finished task yet; wait for it first")]
    NoResult(String),
    #[error("{}", lost_result(.path, .last))]
    ResultLost { path: String, last: AgentStatus },
    #[error(
        "agent {agent} cannot come back, because its log cannot be read; give its work to another \
         agent ({why})"
    )]
    NoWayBack { agent: AgentId, why: String },
    #[error("the record could not be read or written: {0}")]
    Storage(String),
    #[error("the tree has ended")]
    Ended,
}

impl TreeError {
    /// The record of a lost agent's task went with its log.
    pub(super) fn lost(view: AgentView) -> Self {
        Self::ResultLost {
            last: view.last_told.unwrap_or(AgentStatus::PendingInit),
            path: view.path,
        }
    }
}

/// Says what is left of a result whose log is gone.
fn lost_result(path: &str, last: &AgentStatus) -> String {
    let told = last.row().agents;
    let words = last.text().map(|text| format!(", saying: {text}"));
    format!(
        "agent {path} is lost: its log is gone, and the record of its task with it. The root's log \
         told of it last as {told}{}; it is not started again, so give its work to a new agent if \
         it is still needed",
        words.unwrap_or_default()
    )
}
