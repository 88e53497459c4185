//! Host services of the app-server: what its clients can ask without a session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use troupe_app_server::{
    CommandWorkplace, EffectiveSetting, HostServices, KeyStatus, SettingSource, SettingsChange,
    SettingsWriteResult, TakeoverResult, WriteRefusal,
};
use troupe_config::{ConfigEntry, KeyPath, ValueLayer, ValuePlace};
use troupe_engine::skills::{CatalogueFreshness, Skill};
use troupe_import::takeover::ImportIdentity;
use troupe_import::{ForeignConversation, ImportError, Takeover};
use troupe_mcp::McpToolSource;
use troupe_model::catalogue;
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::event::{SkillSummary, SkillsEntry};
use troupe_protocol::mcp::McpOffer;
use troupe_protocol::policy::SandboxPolicy;
use troupe_tools::{ToolSource as _, sandbox_variables};

use super::session_factory::SharedSessionFactory;
use crate::commands::config::{HIDDEN, is_secret};
use crate::config_file;
use crate::failure::CommandFailure;
use crate::keys::KeyFile;
use crate::provider::{key_source, needs_key, provider, secret_variables};

#[async_trait]
impl HostServices for SharedSessionFactory {
    fn models(&self) -> Vec<ModelEntry> {
        let model = match self.wiring.prepared(None) {
            Ok(prepared) => prepared.settings.model.model.clone(),
            // Opening a thread tells why.
            Err(_) => self.wiring.here.settings.model.model.clone(),
        };
        catalogue::with_default(catalogue::entries(), &model)
    }

    async fn skills(
        &self,
        cwd: Option<PathBuf>,
        force_reload: bool,
    ) -> Result<SkillsEntry, String> {
        let prepared = self.wiring.prepared(cwd.as_deref());
        let prepared = prepared.map_err(|failure| failure.to_string())?;
        let markers = &prepared.settings.conversation.project_root_markers;
        let freshness = if force_reload {
            CatalogueFreshness::Reread
        } else {
            CatalogueFreshness::Marks
        };
        let found = self
            .wiring
            .skills
            .catalogue(&prepared.cwd, markers, freshness);
        let found = found.await;
        Ok(SkillsEntry {
            cwd: prepared.cwd.clone(),
            skills: found.skills.iter().map(summary).collect(),
            errors: found.errors.clone(),
        })
    }

    async fn servers(&self) -> McpOffer {
        match self.servers_of(None) {
            Ok(servers) => servers.offer().await,
            // Opening a thread tells why.
            Err(_) => McpOffer::default(),
        }
    }

    async fn read_resource(
        &self,
        cwd: Option<PathBuf>,
        server: &str,
        uri: &str,
    ) -> Result<Value, String> {
        let servers = self.servers_of(cwd.as_deref())?;
        servers.read_resource(server, uri).await
    }

    async fn call_tool(
        &self,
        cwd: PathBuf,
        server: &str,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value, String> {
        let servers = self.servers_of(Some(&cwd))?;
        servers.call_tool(server, tool, arguments).await
    }

    fn refresh_servers(&self) {
        // A configuration that cannot be read has no servers to refresh.
        if let Ok(servers) = self.servers_of(None) {
            servers.refresh();
        }
    }

    fn settings(&self, cwd: Option<&Path>) -> Result<Vec<EffectiveSetting>, String> {
        let wiring = &self.wiring;
        let loaded = wiring.source.load(cwd.unwrap_or(&wiring.here.cwd));
        let config = loaded.map_err(|failure| failure.to_string())?.config;
        let settings = config.settings();
        Ok(settings
            .iter()
            .map(|(key, entry)| setting(key, entry))
            .collect())
    }

    fn version(&self, file: &Path) -> String {
        config_file::version_at(file)
    }

    async fn change_settings(
        &self,
        change: SettingsChange,
    ) -> Result<SettingsWriteResult, WriteRefusal> {
        let wiring = Arc::clone(&self.wiring);
        let changed = tokio::task::spawn_blocking(move || wiring.change_settings(&change));
        let lost = |error: tokio::task::JoinError| Err(WriteRefusal::Failed(error.to_string()));
        changed.await.unwrap_or_else(lost)
    }

    async fn take_over(&self, file: &Path) -> Result<TakeoverResult, String> {
        let absolute = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let origin = match ForeignConversation::open(&absolute) {
            Err(ImportError::Own { session, .. }) if session.parse::<uuid::Uuid>().is_ok() => {
                let session = session.parse();
                return session
                    .map(|session| TakeoverResult {
                        session,
                        losses: Vec::new(),
                    })
                    .map_err(|error: uuid::Error| error.to_string());
            }
            opened => opened.map_err(|error| error.to_string())?,
        };
        let takeover = Takeover {
            home: self.wiring.home(),
            frame: self.wiring.frame().map_err(|failure| failure.to_string())?,
            identity: ImportIdentity::Derived,
        };
        let imported = takeover.run(&origin).await;
        let imported = imported.map_err(|error| error.to_string())?;
        Ok(TakeoverResult {
            session: imported.session,
            losses: imported.losses.report_lines(),
        })
    }

    fn key(&self) -> KeyStatus {
        // A configuration that cannot be read names no provider.
        let Ok(prepared) = self.wiring.prepared(None) else {
            return KeyStatus::Missing;
        };
        let settings = &prepared.settings;
        let id = &settings.model.model_provider;
        let Some(provider) = provider(settings, id) else {
            return KeyStatus::Missing;
        };
        let keys = KeyFile::of(&self.wiring.source.home);
        match key_source(&provider, id, Some(&keys)) {
            Ok(Some(_)) => KeyStatus::Present,
            Ok(None) | Err(_) if needs_key(&provider) => KeyStatus::Missing,
            Ok(None) | Err(_) => KeyStatus::NotNeeded,
        }
    }

    fn workplace(
        &self,
        cwd: Option<&Path>,
        policy: Option<SandboxPolicy>,
    ) -> Result<CommandWorkplace, String> {
        let wiring = &self.wiring;
        let told = |failure: CommandFailure| failure.to_string();
        let cwd = cwd.map(|cwd| wiring.here.cwd.join(cwd));
        let prepared = wiring.prepared(cwd.as_deref()).map_err(told)?;
        let configured = || Ok(prepared.context(&wiring.add_dirs)?.sandbox_policy);
        let sandbox_policy = policy.map_or_else(configured, Ok).map_err(told)?;
        let rights = &prepared.settings.rights;
        let inherited = &wiring.surroundings().variables;
        let secrets = secret_variables(&prepared.settings);
        let mut env = rights.shell_environment_policy.apply(inherited, &secrets);
        env.extend(sandbox_variables(Some(&sandbox_policy)));
        Ok(CommandWorkplace {
            launcher: wiring.launcher.clone(),
            cwd: prepared.cwd.clone(),
            env,
            sandbox_policy,
        })
    }
}

impl SharedSessionFactory {
    /// Returns the servers that sessions in a directory share.
    fn servers_of(&self, cwd: Option<&Path>) -> Result<McpToolSource, String> {
        let wiring = &self.wiring;
        let prepared = wiring
            .prepared(cwd)
            .map_err(|failure| failure.to_string())?;
        let roster = prepared.roster(wiring.hub(), &wiring.source);
        Ok(roster.servers())
    }
}

fn summary(skill: &Skill) -> SkillSummary {
    SkillSummary {
        name: skill.name.clone(),
        description: skill.description.clone(),
        short_description: skill.short_description.clone(),
        path: skill.path.clone(),
        scope: skill.scope,
    }
}

pub(super) fn setting(key: &KeyPath, entry: &ConfigEntry) -> EffectiveSetting {
    let source = match &entry.origin.place {
        ValuePlace::BuiltIn => SettingSource::BuiltIn,
        ValuePlace::CommandLine(_) => SettingSource::CommandLine,
        ValuePlace::File { path, .. } => {
            let file = path.to_path_buf();
            match entry.origin.layer {
                ValueLayer::Project => SettingSource::Project { file },
                ValueLayer::Profile => SettingSource::Profile { file },
                ValueLayer::Defaults
                | ValueLayer::User
                | ValueLayer::Argument
                | ValueLayer::Flag => SettingSource::User { file },
            }
        }
    };
    EffectiveSetting {
        key: key.parts().to_vec(),
        value: if is_secret(key, entry) {
            json!(HIDDEN)
        } else {
            json!(entry.value)
        },
        source,
    }
}
