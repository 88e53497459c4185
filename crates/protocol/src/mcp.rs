//! Servers of the Model Context Protocol: what they ask of people, and what they offer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::AgentLabel;
use crate::id::{CallId, SubmissionId};
use crate::op::ElicitationDecision;

/// A server wants to know something from the user while it runs a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ElicitationRequest {
    pub server_name: String,
    /// Answer with this id.
    pub id: CallId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<SubmissionId>,
    /// As the server wrote it: `mode` is `form` (with `message` and `requestedSchema`) or
    /// `url` (with `message`, `url` and `elicitationId`).
    pub request: Value,
    /// Absent for the session's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentLabel>,
}

/// What a server is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElicitationResponse {
    pub decision: ElicitationDecision,
    /// The filled form of one that is accepted.
    pub content: Option<Value>,
}

impl ElicitationResponse {
    pub fn without_content(decision: ElicitationDecision) -> Self {
        Self {
            decision,
            content: None,
        }
    }
}

/// Everything that the servers of a session offer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct McpOffer {
    /// By the name that the model calls them by.
    pub tools: BTreeMap<String, McpTool>,
    /// By server, as the server describes them.
    pub resources: BTreeMap<String, Vec<Value>>,
    pub resource_templates: BTreeMap<String, Vec<Value>>,
    pub auth_statuses: BTreeMap<String, McpAuthStatus>,
    /// Why a server offers nothing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct McpTool {
    pub server: String,
    /// The name that the server knows it by.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(rename = "inputSchema")]
    pub input_schema: Value,
    /// What the server says about what its tool does, unproved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum McpAuthStatus {
    /// The server is a process of ours, or asks for nothing that we know of.
    Unsupported,
    BearerToken,
    /// Somebody logged in there.
    OAuth,
}
