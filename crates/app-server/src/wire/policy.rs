//! What commands may do, and when a person is asked.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use troupe_protocol::policy as core;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum AskForApproval {
    Untrusted,
    OnFailure,
    OnRequest,
    Never,
}

impl From<AskForApproval> for core::ApprovalPolicy {
    fn from(policy: AskForApproval) -> Self {
        match policy {
            AskForApproval::Untrusted => Self::Untrusted,
            AskForApproval::OnFailure => Self::OnFailure,
            AskForApproval::OnRequest => Self::OnRequest,
            AskForApproval::Never => Self::Never,
        }
    }
}

impl From<core::ApprovalPolicy> for AskForApproval {
    fn from(policy: core::ApprovalPolicy) -> Self {
        match policy {
            core::ApprovalPolicy::Untrusted => Self::Untrusted,
            core::ApprovalPolicy::OnFailure => Self::OnFailure,
            core::ApprovalPolicy::OnRequest => Self::OnRequest,
            core::ApprovalPolicy::Never => Self::Never,
        }
    }
}

/// Who answers approvals. Here it is always a person, through a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ApprovalsReviewer {
    User,
    AutoReview,
    GuardianSubagent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum SandboxMode {
    ReadOnly,
    WorkspaceWrite,
    DangerFullAccess,
}

impl From<SandboxMode> for core::SandboxMode {
    fn from(mode: SandboxMode) -> Self {
        match mode {
            SandboxMode::ReadOnly => Self::ReadOnly,
            SandboxMode::WorkspaceWrite => Self::WorkspaceWrite,
            SandboxMode::DangerFullAccess => Self::DangerFullAccess,
        }
    }
}

impl From<SandboxMode> for core::SandboxPolicy {
    fn from(mode: SandboxMode) -> Self {
        match mode {
            SandboxMode::ReadOnly => Self::read_only(),
            SandboxMode::WorkspaceWrite => Self::workspace_write(),
            SandboxMode::DangerFullAccess => Self::DangerFullAccess,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum SandboxPolicy {
    DangerFullAccess,
    ReadOnly {
        #[serde(default)]
        network_access: bool,
    },
    WorkspaceWrite {
        #[serde(default)]
        writable_roots: Vec<PathBuf>,
        #[serde(default)]
        network_access: bool,
        #[serde(default)]
        exclude_tmpdir_env_var: bool,
        #[serde(default)]
        exclude_slash_tmp: bool,
    },
}

impl From<SandboxPolicy> for core::SandboxPolicy {
    fn from(policy: SandboxPolicy) -> Self {
        match policy {
            SandboxPolicy::DangerFullAccess => Self::DangerFullAccess,
            SandboxPolicy::ReadOnly { network_access } => Self::ReadOnly { network_access },
            SandboxPolicy::WorkspaceWrite {
                writable_roots,
                network_access,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
            } => Self::WorkspaceWrite {
                writable_roots,
                network_access,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
            },
        }
    }
}

impl From<core::SandboxPolicy> for SandboxPolicy {
    fn from(policy: core::SandboxPolicy) -> Self {
        match policy {
            core::SandboxPolicy::DangerFullAccess => Self::DangerFullAccess,
            core::SandboxPolicy::ReadOnly { network_access } => Self::ReadOnly { network_access },
            core::SandboxPolicy::WorkspaceWrite {
                writable_roots,
                network_access,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
            } => Self::WorkspaceWrite {
                writable_roots,
                network_access,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
            },
        }
    }
}

/// How hard the model thinks: `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max` or
/// `ultra`, as far as the model takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ReasoningEffort(
    #[cfg_attr(test, schemars(with = "String"), ts(as = "String"))] pub core::ReasoningEffort,
);

/// `auto`, `concise`, `detailed` or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ReasoningSummary(
    #[cfg_attr(test, schemars(with = "String"), ts(as = "String"))] pub core::ReasoningSummary,
);

/// `friendly`, `pragmatic` or `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Personality(
    #[cfg_attr(test, schemars(with = "String"), ts(as = "String"))] pub core::Personality,
);

/// The way of working together, with the settings that go with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CollaborationMode(
    #[cfg_attr(
        test,
        schemars(with = "serde_json::Value"),
        ts(as = "serde_json::Value")
    )]
    pub core::ModeChoice,
);
