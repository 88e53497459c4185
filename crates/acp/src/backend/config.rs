//! How another agent is configured: `[backends.NAME]`.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_protocol::policy::SandboxPolicy;

use crate::limits::BACKEND_START_SEC_DEFAULT;

/// A program that can be a child.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(rename = "Backend")]
pub struct BackendConfig {
    /// What it speaks.
    #[serde(rename = "type", default)]
    pub kind: BackendKind,
    /// The program to start.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables that the program gets. Besides these and `env_vars` it gets only the likes of
    /// PATH and HOME.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Names of variables that the program gets from the environment, such as the one with its
    /// key.
    #[serde(default)]
    pub env_vars: Vec<String>,
    /// How long it may take to start and to greet; 60 if absent. A program that is downloaded
    /// first needs longer.
    pub startup_timeout_sec: Option<NonZeroU64>,
    /// Where it works; the child's directory if absent.
    pub cwd: Option<PathBuf>,
    /// Whether it may use the network, which programs with a model elsewhere need. If absent, it
    /// may where the child may; `true` grants it to every child that is this program, `false`
    /// takes it away.
    pub network: Option<bool>,
    /// Directories that it may write besides those of the child, such as its own settings.
    #[serde(default)]
    pub writable: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// The Agent Client Protocol, on stdin and stdout.
    #[default]
    Acp,
}

impl BackendConfig {
    pub(super) fn startup_time_max(&self) -> Duration {
        let seconds = self.startup_timeout_sec.map(NonZeroU64::get);
        Duration::from_secs(seconds.unwrap_or(BACKEND_START_SEC_DEFAULT))
    }

    /// Returns what the program may do: what its child may, and what the configuration adds.
    pub fn sandbox(&self, child: &SandboxPolicy) -> SandboxPolicy {
        let network_access = self.network.unwrap_or_else(|| child.network_access());
        match child {
            // Without a sandbox there is nothing that could keep it from anything.
            SandboxPolicy::DangerFullAccess => SandboxPolicy::DangerFullAccess,
            // A reader writes nowhere, whatever the program would like to.
            SandboxPolicy::ReadOnly { .. } => SandboxPolicy::ReadOnly { network_access },
            SandboxPolicy::WorkspaceWrite {
                writable_roots,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
                ..
            } => SandboxPolicy::WorkspaceWrite {
                writable_roots: writable_roots
                    .iter()
                    .chain(&self.writable)
                    .cloned()
                    .collect(),
                network_access,
                exclude_tmpdir_env_var: *exclude_tmpdir_env_var,
                exclude_slash_tmp: *exclude_slash_tmp,
            },
        }
    }
}
