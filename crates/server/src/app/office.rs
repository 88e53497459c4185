//! What is known without a thread: whoever starts the server knows it, and the server asks.

use std::fmt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::Value;
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::event::SkillsEntry;
use troupe_protocol::mcp::McpOffer;

/// Whoever knows models, skills, servers, configuration and keys. A working directory that is
/// absent is the one that the server was started in.
#[async_trait]
pub trait Office: Send + Sync + fmt::Debug {
    /// Returns the models that come with the program, the configured one marked.
    fn models(&self) -> Vec<ModelEntry>;

    /// Returns what can be used in a directory, or why its configuration cannot be read.
    async fn skills(&self, cwd: Option<PathBuf>, force_reload: bool)
    -> Result<SkillsEntry, String>;

    /// Starts the configured servers, as far as they do not run, and returns what they offer.
    async fn servers(&self) -> McpOffer;

    /// Reads the configuration of a directory as its files are now.
    fn settings(&self, cwd: Option<&Path>) -> Result<Vec<Setting>, String>;

    fn key(&self) -> KeyStatus;
}

/// One effective value of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
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
