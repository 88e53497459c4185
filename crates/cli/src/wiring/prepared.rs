//! Everything that is known about one directory, found out once.
//!
//! Decided: what was read of a directory counts as long as the program runs. The agents of a
//! tree then work under one configuration, and one more child reads no file. Who changes a
//! configuration starts the program again, or changes it through the program; rules about commands and roles are looked at anew
//! at each use, and MCP servers when a client asks for it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};
use troupe_config::{Config, KeyPath, ValueLayer};
use troupe_engine::SetupNotice;
use troupe_mcp::{McpServerPool, McpServerSet};
use troupe_process::Launcher;
use troupe_protocol::session::{GitInfo, TurnContext};
use troupe_tools::rules::RuleSource;
use troupe_tools::{Registry, ToolDeps, Toolbox};

use crate::diagnostics;
use crate::failure::CommandFailure;
use crate::git;
use crate::home::{repository_root, user_home};
use crate::layers::{ConfigSource, LoadedConfig};
use crate::provider::secret_variables;
use crate::settings::{DeprecatedSetting, Settings};
use crate::wiring::servers::ConfiguredServers;
use crate::wiring::surroundings::ProcessSurroundings;

/// Whether a session leaves anything in the home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionTrace {
    Kept,
    None,
}

/// A configuration, read and checked, for one directory.
#[derive(Debug)]
pub struct PreparedDirectory {
    pub(super) cwd: PathBuf,
    config: Config,
    pub settings: Settings,
    /// What a person should know about it.
    pub(super) notices: Vec<SetupNotice>,
    git: OnceLock<Option<GitInfo>>,
    toolbox: OnceLock<Toolbox>,
    roster: OnceLock<Arc<McpServerSet>>,
}

impl PreparedDirectory {
    pub(super) fn read(source: &ConfigSource, cwd: &Path) -> Result<Self, CommandFailure> {
        let LoadedConfig { config, warnings } = source.load(cwd)?;
        let settings = Settings::read(&config)?;
        diagnostics::begin_by_configuration(&source.home, settings.log.log.filter.as_deref())?;
        if diagnostics::is_on() {
            diagnostics::hide_configured(&config);
        }
        let undone = settings.integrations.warnings();
        let warnings = warnings.into_iter().chain(undone).map(SetupNotice::Warning);
        let deprecated = DeprecatedSetting::find(&config)
            .into_iter()
            .map(SetupNotice::from);
        let notices = warnings.chain(deprecated).collect();
        Ok(Self {
            cwd: cwd.to_owned(),
            config,
            settings,
            notices,
            git: OnceLock::new(),
            toolbox: OnceLock::new(),
            roster: OnceLock::new(),
        })
    }

    /// Tells whether profile, argument or flag set a key, or one below it.
    pub(super) fn asks_for(&self, key: &str) -> bool {
        let settings = self.config.settings();
        settings.iter().any(|(path, entry)| {
            path.parts().first().is_some_and(|first| first == key)
                && entry.origin.layer >= ValueLayer::Profile
        })
    }

    /// As [`Self::asks_for`], for one key in a section.
    pub(super) fn asks_for_exactly(&self, path: &KeyPath) -> bool {
        let entry = self.config.find(path);
        entry.is_some_and(|entry| entry.origin.layer >= ValueLayer::Profile)
    }

    /// Returns what profile, argument or flag say of callbacks, by key.
    pub(super) fn callback_asked(&self) -> Map<String, Value> {
        let callback = serde_json::to_value(&self.settings.agents.callback).unwrap_or_default();
        let settings = self.config.settings().into_iter();
        let asked = settings.filter(|(_, entry)| entry.origin.layer >= ValueLayer::Profile);
        let asked = asked.filter_map(|(path, _)| match path.parts() {
            [section, part, key, ..] if section == "agents" && part == "callback" => {
                let value = callback.get(key.as_str()).cloned()?;
                Some((format!("agents.callback.{key}"), value))
            }
            _ => None,
        });
        asked.collect()
    }

    /// Tells whether somebody gave this key on the command line, by argument or flag.
    pub(super) fn is_typed(&self, key: &str) -> bool {
        let entry = self.config.find(&KeyPath::from([key]));
        entry.is_some_and(|entry| entry.origin.layer >= ValueLayer::Argument)
    }

    /// Tells whether nobody named a model.
    pub(super) fn model_is_built_in(&self) -> bool {
        let entry = self.config.find(&KeyPath::from(["model"]));
        entry.is_none_or(|entry| entry.origin.layer == ValueLayer::Defaults)
    }

    /// Tells whether the model has to be found out at the provider.
    pub(super) fn lacks_model(&self) -> bool {
        self.settings.lacks_model(&self.config)
    }

    /// Returns the settings that a session begins with. `add_dirs` are writable too.
    pub(super) fn context(&self, add_dirs: &[PathBuf]) -> Result<TurnContext, CommandFailure> {
        let Settings {
            model,
            rights,
            conversation,
            ..
        } = &self.settings;
        let sandbox_policy =
            rights.sandbox_policy(&self.config, user_home().as_deref(), add_dirs)?;
        Ok(TurnContext {
            cwd: self.cwd.clone(),
            approval_policy: rights.approval_policy,
            sandbox_policy,
            model: model.model.clone(),
            effort: model.model_reasoning_effort,
            summary: model.model_reasoning_summary,
            collaboration_mode: conversation.collaboration_mode.unwrap_or_default(),
            mode_instructions: None,
            plan_writes: self.is_typed("sandbox_mode"),
            personality: conversation.personality,
            developer_instructions: None,
        })
    }

    pub(super) fn git(&self) -> Option<GitInfo> {
        let read = || repository_root(&self.cwd).and_then(git::info);
        self.git.get_or_init(read).clone()
    }

    /// Returns the servers that sessions in this directory share.
    pub(super) fn roster(
        &self,
        hub: &Arc<McpServerPool>,
        source: &ConfigSource,
    ) -> &Arc<McpServerSet> {
        self.roster.get_or_init(|| {
            let list = ConfiguredServers::new(source.clone(), self.cwd.clone());
            hub.roster(&self.settings.integrations.mcp_servers, Arc::new(list))
        })
    }

    /// Returns where the rules of the user and of the project are written.
    pub(super) fn rules(&self, source: &ConfigSource) -> RuleSource {
        source.rules(&self.cwd, &self.config)
    }

    /// Makes the tools of one session.
    pub(super) fn tools(
        &self,
        trace: SessionTrace,
        source: &ConfigSource,
        launcher: &Launcher,
        surroundings: &ProcessSurroundings,
    ) -> Registry {
        let toolbox = self.toolbox.get_or_init(|| {
            Toolbox::new(ToolDeps {
                launcher: launcher.clone(),
                environment: self.settings.rights.shell_environment_policy.clone(),
                inherited: surroundings.variables.clone(),
                secrets: secret_variables(&self.settings),
                troupe_home: Some(source.home.path().to_owned()),
                rules: self.rules(source),
            })
            .with_answer_time_max(self.settings.conversation.answer_time_max())
            .with_undo(source.home.path(), self.settings.undo.keeping())
            .with_hooks(self.settings.hooks.hooks.clone())
        });
        match trace {
            SessionTrace::Kept => toolbox.registry(),
            SessionTrace::None => toolbox.registry_keeping_nothing(),
        }
    }
}
