//! An office that knows one model and where commands run, and nothing else: what a real one knows is tested with the
//! program.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::{Map, Value};
use troupe_app_server::{
    CommandWorkplace, EffectiveSetting, HostServices, KeyStatus, SettingsChange,
    SettingsWriteResult, TakeoverResult, WriteRefusal,
};
use troupe_process::{Launcher, LauncherOptions};
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::event::SkillsEntry;
use troupe_protocol::mcp::McpOffer;
use troupe_protocol::policy::SandboxPolicy;

#[derive(Debug)]
pub struct PlainOffice {
    launcher: Launcher,
    cwd: PathBuf,
}

impl PlainOffice {
    pub fn in_directory(cwd: PathBuf) -> Self {
        let launcher = Launcher::new(LauncherOptions::default());
        Self { launcher, cwd }
    }
}

#[async_trait]
impl HostServices for PlainOffice {
    fn models(&self) -> Vec<ModelEntry> {
        vec![ModelEntry::named("test-model")]
    }

    async fn skills(&self, cwd: Option<PathBuf>, _: bool) -> Result<SkillsEntry, String> {
        Ok(SkillsEntry {
            cwd: cwd.unwrap_or_default(),
            skills: Vec::new(),
            errors: Vec::new(),
        })
    }

    async fn servers(&self) -> McpOffer {
        McpOffer::default()
    }

    async fn read_resource(
        &self,
        _: Option<PathBuf>,
        server: &str,
        _: &str,
    ) -> Result<Value, String> {
        Err(format!("no server {server}"))
    }

    async fn call_tool(
        &self,
        _: PathBuf,
        server: &str,
        _: &str,
        _: Map<String, Value>,
    ) -> Result<Value, String> {
        Err(format!("no server {server}"))
    }

    fn refresh_servers(&self) {}

    fn settings(&self, _: Option<&Path>) -> Result<Vec<EffectiveSetting>, String> {
        Ok(Vec::new())
    }

    fn version(&self, _: &Path) -> String {
        String::new()
    }

    async fn change_settings(
        &self,
        _: SettingsChange,
    ) -> Result<SettingsWriteResult, WriteRefusal> {
        let message = "this office writes nothing".to_owned();
        Err(WriteRefusal::ReadOnly(message))
    }

    async fn take_over(&self, file: &Path) -> Result<TakeoverResult, String> {
        Err(format!("{} is no conversation", file.display()))
    }

    fn key(&self) -> KeyStatus {
        KeyStatus::NotNeeded
    }

    fn workplace(
        &self,
        cwd: Option<&Path>,
        policy: Option<SandboxPolicy>,
    ) -> Result<CommandWorkplace, String> {
        let path = std::env::var("PATH").map_err(|error| error.to_string())?;
        Ok(CommandWorkplace {
            launcher: self.launcher.clone(),
            cwd: self.cwd.join(cwd.unwrap_or(Path::new(""))),
            env: [("PATH".to_owned(), path)].into(),
            sandbox_policy: policy.unwrap_or_else(SandboxPolicy::read_only),
        })
    }
}
