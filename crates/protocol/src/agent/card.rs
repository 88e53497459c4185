//! The one view of an agent: how it stands at one moment, for whoever lists agents. Lists,
//! queries and pages either show this or are made from it; only contracts of others (the tool
//! families, the app-server, MCP) have forms of their own.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{AgentOrigin, AgentStatus, WaitingOn};
use crate::id::{AgentId, SessionId, SubmissionId};
use crate::policy::{ReasoningEffort, SandboxPolicy};
use crate::spawn::{self, ApprovalRoute, SpawnSpec};
use crate::tree::Interruption;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentCard {
    pub agent_id: AgentId,
    pub session_id: SessionId,
    /// Absent for the root and for the released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<SessionId>,
    /// Its place in the tree, such as `/root/tests`.
    pub path: String,
    /// 0 for the root.
    pub depth: u32,
    /// How it was made; absent for the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<AgentMaking>,
    /// What its conversation is called, if somebody gave it a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub status: AgentStatus,
    /// Why it was interrupted, what it waits on, which tools run: in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// While it is at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_on: Option<WaitingOn>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interruption: Option<Interruption>,
    /// The tools that run now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub current_tools: Vec<String>,
    /// What it thinks about, in a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_header: Option<String>,
    /// The beginning of the last message or the error, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// When the status changed last.
    pub since_ms: i64,
    pub born_ms: i64,
    /// When it last did something.
    pub progress_ms: i64,
    /// How long its last task ran that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran_ms: Option<u64>,
    pub tokens: TokenSums,
    pub pending: PendingMail,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_task: Option<SubmissionId>,
    /// Somebody has read what that task came to.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read: bool,
    /// Only its results are left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pruned: bool,
}

/// How a child was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AgentMaking {
    pub origin: AgentOrigin,
    pub role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<ReasoningEffort>,
    pub cwd: PathBuf,
    /// Its own; in force is no more than what those above it have at the moment.
    pub sandbox: SandboxPolicy,
    /// Why nothing leaves that sandbox, whoever agrees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_held: Option<String>,
    /// Who answers what it asks.
    pub approvals: ApprovalRoute,
    /// The beginning of its first task; empty if it was given none.
    pub summary: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TokenSums {
    pub own: u64,
    /// With everybody below.
    pub subtree: u64,
}

/// What waits to be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct PendingMail {
    /// Regular messages and callbacks.
    pub messages: u32,
    pub interrupts: u32,
}

impl AgentCard {
    /// Returns the last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

impl AgentMaking {
    pub fn new(spec: &SpawnSpec, origin: AgentOrigin) -> Self {
        Self {
            origin,
            role: spec.agent_type.clone(),
            persona: spec.agent_name.clone(),
            label: spec.label.clone(),
            model: spec.model.clone(),
            effort: spec.reasoning_effort,
            cwd: spec.cwd.clone(),
            sandbox: spec.sandbox_policy.clone(),
            sandbox_held: spec.sandbox_held.clone(),
            approvals: spec.approvals,
            summary: spec.summary.clone(),
        }
    }

    /// Returns the beginning of the first task as lists show it, if there was one.
    pub fn short_summary(&self) -> Option<String> {
        spawn::short_summary(&self.summary)
    }
}
