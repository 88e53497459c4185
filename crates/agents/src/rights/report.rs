//! What the caller is told: its wish, and what became of it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use troupe_protocol::policy::{ApprovalPolicy, ReasoningEffort, SandboxMode, SandboxPolicy};
use troupe_protocol::spawn::{ApprovalRoute, SpawnSpec, ToolLists};

use crate::tree_access::SpawnRequest;

/// What the call named.
#[derive(Serialize)]
struct RequestedRights<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<ReasoningEffort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    working_directory: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox_mode: Option<SandboxMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approvals: Option<ApprovalRoute>,
}

/// What the child got, under the same names.
#[derive(Serialize)]
struct EffectiveRights<'a> {
    agent_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_name: Option<&'a str>,
    model: &'a str,
    /// A backend, or a provider that is not the root's.
    #[serde(skip_serializing_if = "Option::is_none")]
    model_provider: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<ReasoningEffort>,
    working_directory: Cow<'a, str>,
    sandbox_mode: SandboxMode,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    writable_roots: Vec<Cow<'a, str>>,
    network_access: bool,
    approval_policy: ApprovalPolicy,
    approvals: ApprovalRoute,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tools: &'a [ToolLists],
}

pub(super) fn requested(request: &SpawnRequest) -> Value {
    to_value(RequestedRights {
        agent_type: request.agent_type.as_deref(),
        agent_name: request.agent_name.as_deref(),
        model: request.model.as_deref(),
        backend: request.backend.as_deref(),
        reasoning_effort: request.reasoning_effort,
        working_directory: request
            .working_directory
            .as_ref()
            .map(|directory| directory.to_string_lossy()),
        sandbox_mode: request.sandbox,
        approvals: request.approvals,
    })
}

/// `policy` is what the kernel holds the child to.
pub(super) fn effective(spec: &SpawnSpec, policy: &SandboxPolicy) -> Value {
    let writable_roots = match policy {
        SandboxPolicy::WorkspaceWrite { writable_roots, .. } => writable_roots
            .iter()
            .map(|root| root.to_string_lossy())
            .collect(),
        SandboxPolicy::DangerFullAccess | SandboxPolicy::ReadOnly { .. } => Vec::new(),
    };
    to_value(EffectiveRights {
        agent_type: &spec.agent_type,
        agent_name: spec.agent_name.as_deref(),
        model: &spec.model,
        model_provider: spec.model_provider.as_deref(),
        reasoning_effort: spec.reasoning_effort,
        working_directory: spec.cwd.to_string_lossy(),
        sandbox_mode: policy.mode(),
        writable_roots,
        network_access: policy.network_access(),
        approval_policy: spec.approval_policy,
        approvals: spec.approvals,
        tools: &spec.tools,
    })
}

fn to_value(told: impl Serialize) -> Value {
    serde_json::to_value(told).expect("all of it is text, flags and lists of these")
}
