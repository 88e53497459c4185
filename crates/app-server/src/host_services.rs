//! What is known without a thread: whoever starts the server knows it, and the server asks.

mod settings_change;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::{Map, Value};
use troupe_process::Launcher;
use troupe_protocol::SessionId;
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::event::SkillsEntry;
use troupe_protocol::mcp::McpOffer;
use troupe_protocol::policy::SandboxPolicy;

pub use settings_change::{
    OverriddenSetting, SettingEdit, SettingMerge, SettingsChange, SettingsWriteResult, WriteRefusal,
};

/// Whoever knows models, skills, servers, configuration and keys. A working directory that is
/// absent is the one that the server was started in.
#[async_trait]
pub trait HostServices: Send + Sync + fmt::Debug {
    /// Returns the models that come with the program, the configured one marked.
    fn models(&self) -> Vec<ModelEntry>;

    /// Returns what can be used in a directory, or why its configuration cannot be read.
    async fn skills(&self, cwd: Option<PathBuf>, force_reload: bool)
    -> Result<SkillsEntry, String>;

    /// Starts the configured servers, as far as they do not run, and returns what they offer.
    async fn servers(&self) -> McpOffer;

    /// Reads a resource of a server of a directory. The answer is as the server wrote it.
    async fn read_resource(
        &self,
        cwd: Option<PathBuf>,
        server: &str,
        uri: &str,
    ) -> Result<Value, String>;

    /// Calls a tool of a server of a directory. The answer is as the server wrote it.
    async fn call_tool(
        &self,
        cwd: PathBuf,
        server: &str,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value, String>;

    /// Has the list of servers be read again by who needs it next.
    fn refresh_servers(&self);

    /// Reads the configuration of a directory as its files are now.
    fn settings(&self, cwd: Option<&Path>) -> Result<Vec<EffectiveSetting>, String>;

    /// Returns what tells the content of a configuration file from any other.
    fn version(&self, file: &Path) -> String;

    /// Changes the user's configuration. What is opened from then on has it; what is open
    /// keeps its own.
    async fn change_settings(
        &self,
        change: SettingsChange,
    ) -> Result<SettingsWriteResult, WriteRefusal>;

    fn key(&self) -> KeyStatus;

    /// Makes a session of the conversation in a file of another agent's, or finds the one that it
    /// is already. A log of ours is its session.
    async fn take_over(&self, file: &Path) -> Result<TakeoverResult, String>;

    /// Returns what a command of a client runs with in a directory, which may be relative to
    /// the server's; under the configured policy if none is given.
    fn workplace(
        &self,
        cwd: Option<&Path>,
        policy: Option<SandboxPolicy>,
    ) -> Result<CommandWorkplace, String>;
}

/// A session that a file leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeoverResult {
    pub session: SessionId,
    /// What could not be carried over, one line each.
    pub losses: Vec<String>,
}

/// Where and how a command runs.
#[derive(Debug)]
pub struct CommandWorkplace {
    pub launcher: Launcher,
    pub cwd: PathBuf,
    pub env: BTreeMap<String, String>,
    pub sandbox_policy: SandboxPolicy,
}

/// One effective value of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveSetting {
    pub key: Vec<String>,
    /// Secrets are blotted out.
    pub value: Value,
    pub source: SettingSource,
}

/// Who decided a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingSource {
    BuiltIn,
    User { file: PathBuf },
    Project { file: PathBuf },
    Profile { file: PathBuf },
    CommandLine,
}

/// How the configured provider is paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStatus {
    /// A key is there.
    Present,
    /// It wants one, and there is none.
    Missing,
    /// It asks for none, such as a model on this machine.
    NotNeeded,
}
