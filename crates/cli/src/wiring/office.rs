//! What clients of an app-server are told without a session.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde_json::json;
use troupe_config::{Entry, KeyPath, Layer, Place};
use troupe_engine::skills::{Freshness, Skill};
use troupe_model::catalogue;
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::event::{SkillSummary, SkillsEntry};
use troupe_protocol::mcp::McpOffer;
use troupe_server::app::{KeyStatus, Office, Setting, SettingSource};
use troupe_tools::ToolSource as _;

use super::ground::SharedGround;
use crate::commands::config::{HIDDEN, is_secret};
use crate::provider::{key_variable, provider};

#[async_trait]
impl Office for SharedGround {
    fn models(&self) -> Vec<ModelEntry> {
        catalogue::with_default(catalogue::entries(), &self.wiring.here.settings.model.model)
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
            Freshness::Reread
        } else {
            Freshness::Marks
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
        let wiring = &self.wiring;
        let roster = wiring.here.roster(wiring.hub(), &wiring.source);
        roster.servers().offer().await
    }

    fn settings(&self, cwd: Option<&Path>) -> Result<Vec<Setting>, String> {
        let wiring = &self.wiring;
        let loaded = wiring.source.load(cwd.unwrap_or(&wiring.here.cwd));
        let config = loaded.map_err(|failure| failure.to_string())?.config;
        let settings = config.settings();
        Ok(settings
            .iter()
            .map(|(key, entry)| setting(key, entry))
            .collect())
    }

    fn key(&self) -> KeyStatus {
        let settings = &self.wiring.here.settings;
        let id = &settings.model.model_provider;
        let Some(provider) = provider(settings, id) else {
            return KeyStatus::Missing;
        };
        let needs_key = provider.requires_key.unwrap_or(provider.env_key.is_some());
        match key_variable(&provider, id) {
            Some(_) => KeyStatus::Present,
            None if needs_key => KeyStatus::Missing,
            None => KeyStatus::NotNeeded,
        }
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

fn setting(key: &KeyPath, entry: &Entry) -> Setting {
    let source = match &entry.origin.place {
        Place::BuiltIn => SettingSource::BuiltIn,
        Place::CommandLine(_) => SettingSource::CommandLine,
        Place::File { path, .. } => {
            let file = path.to_path_buf();
            match entry.origin.layer {
                Layer::Project => SettingSource::Project { file },
                Layer::Profile => SettingSource::Profile { file },
                Layer::Defaults | Layer::User | Layer::Argument | Layer::Flag => {
                    SettingSource::User { file }
                }
            }
        }
    };
    Setting {
        key: key.parts().to_vec(),
        value: if is_secret(key) {
            json!(HIDDEN)
        } else {
            json!(entry.value)
        },
        source,
    }
}
