//! What commands may do, and who is asked.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_config::{Config, ConfigError, KeyPath};
use troupe_protocol::policy::{ApprovalPolicy, SandboxMode, SandboxPolicy};
use troupe_server::headless::HeadlessPolicy;
use troupe_tools::EnvironmentPolicy;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct RightsSettings {
    /// When a person is asked before something is done.
    pub approval_policy: ApprovalPolicy,
    /// What is answered to an approval request when nobody can be asked: in `exec`, and for
    /// clients of `mcp-server` that show no forms.
    pub headless_approvals: HeadlessApprovals,
    /// How long a request for approval is open with `headless_approvals = "wait"`.
    pub headless_approval_timeout_sec: u64,
    /// What commands may do.
    pub sandbox_mode: SandboxMode,
    /// Details of the mode `workspace-write`.
    pub sandbox_workspace_write: WorkspaceWrite,
    /// Which variables reach commands.
    #[serde(default)]
    pub shell_environment_policy: EnvironmentPolicy,
}

/// The answer to an approval request that nobody can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HeadlessApprovals {
    /// `exec` asks whoever sits at its terminal; without one it is refused.
    Ask,
    /// The model is told that it was refused, and goes on.
    Refuse,
    /// Everything that is asked for is allowed. For machines that are a sandbox themselves.
    Approve,
    /// Somebody can answer with `troupe agents answer`; it is refused when the time is up.
    Wait,
    /// The run ends and says what was asked, with an exit code of its own.
    Escalate,
}

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorkspaceWrite {
    /// Writable besides the working directory; absolute, or below `~`.
    pub writable_roots: Vec<PathBuf>,
    /// Let commands use the network.
    pub network_access: bool,
    /// Do not make `$TMPDIR` writable.
    pub exclude_tmpdir_env_var: bool,
    /// Do not make `/tmp` writable.
    pub exclude_slash_tmp: bool,
}

impl RightsSettings {
    /// Refuses values that have the right type and cannot be meant, whatever the mode is.
    pub(super) fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let roots = &self.sandbox_workspace_write.writable_roots;
        let is_relative = |root: &&PathBuf| !root.is_absolute() && !root.starts_with("~");
        match roots.iter().find(is_relative) {
            Some(root) => Err(relative(config, root)),
            None => Ok(()),
        }
    }

    /// Returns what is answered when nobody can be asked.
    pub fn headless(&self) -> HeadlessPolicy {
        match self.headless_approvals {
            HeadlessApprovals::Ask | HeadlessApprovals::Refuse => HeadlessPolicy::Refuse,
            HeadlessApprovals::Approve => HeadlessPolicy::Approve,
            HeadlessApprovals::Escalate => HeadlessPolicy::Escalate,
            HeadlessApprovals::Wait => {
                HeadlessPolicy::Wait(Duration::from_secs(self.headless_approval_timeout_sec))
            }
        }
    }

    /// Tells whether a person who sits at the run's terminal is asked.
    pub fn asks_at_terminal(&self) -> bool {
        self.headless_approvals == HeadlessApprovals::Ask
    }

    /// Puts the policy together. `added` are directories named on the command line.
    pub fn sandbox_policy(
        &self,
        config: &Config,
        user_home: Option<&Path>,
        added: &[PathBuf],
    ) -> Result<SandboxPolicy, ConfigError> {
        let details = &self.sandbox_workspace_write;
        Ok(match self.sandbox_mode {
            SandboxMode::DangerFullAccess => SandboxPolicy::DangerFullAccess,
            SandboxMode::ReadOnly => SandboxPolicy::read_only(),
            SandboxMode::WorkspaceWrite => {
                let configured = details
                    .writable_roots
                    .iter()
                    .map(|root| absolute(root, user_home).ok_or_else(|| relative(config, root)))
                    .collect::<Result<Vec<PathBuf>, ConfigError>>()?;
                SandboxPolicy::WorkspaceWrite {
                    writable_roots: configured.into_iter().chain(added.to_vec()).collect(),
                    network_access: details.network_access,
                    exclude_tmpdir_env_var: details.exclude_tmpdir_env_var,
                    exclude_slash_tmp: details.exclude_slash_tmp,
                }
            }
        })
    }
}

fn absolute(path: &Path, user_home: Option<&Path>) -> Option<PathBuf> {
    if let Ok(below) = path.strip_prefix("~") {
        return Some(user_home?.join(below));
    }
    path.is_absolute().then(|| path.to_owned())
}

fn relative(config: &Config, path: &Path) -> ConfigError {
    config.refuse(
        &KeyPath::from(["sandbox_workspace_write", "writable_roots"]),
        format!(
            "expected absolute paths, found {:?}",
            path.display().to_string()
        ),
    )
}
