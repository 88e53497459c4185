//! What a session says of its tree when it is configured, and says anew when it is configured
//! again: limits, tools, how it is told of its children.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use troupe_engine::ConfigureError;
use troupe_protocol::SessionId;
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::tree::{AgentMetadata, TreeFact, TreeRecord};
use troupe_store::{SessionStore, StoreError};
use troupe_tree::TreeLimits;

use super::handle::{RecoveryPolicy, TreeOptions};
use crate::callback;
use crate::families::Family;
use crate::roles::TypeChoices;

/// Whose log has what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingsLog {
    /// The session's own.
    Own,
    /// That of the session that it is a fork of.
    Source,
}

/// Reads the section `[agents]` for one session.
pub trait SettingsReader: Send + Sync + fmt::Debug {
    /// Returns what holds for a session that is configured like this. `enabled` is what it said
    /// itself, earlier, of its tools for agents.
    fn read(
        &self,
        request: &ConfigureSession,
        enabled: Option<bool>,
    ) -> Result<TreeSettings, ConfigureError>;
}

/// The section `[agents]` as it holds for one session.
#[derive(Debug, Clone)]
pub struct TreeSettings {
    pub limits: TreeLimits,
    /// The tool families that agents are offered.
    pub families: Vec<Family>,
    /// Models and efforts of roles, over what their files say.
    pub types: TypeChoices,
    pub recovery: RecoveryPolicy,
}

impl TreeOptions {
    /// Returns what holds for a session that is configured like this.
    pub(crate) fn settings(
        &self,
        request: &ConfigureSession,
        enabled: Option<bool>,
    ) -> Result<TreeSettings, ConfigureError> {
        match &self.reader {
            Some(reader) if !request.config.is_empty() || enabled.is_some() => {
                reader.read(request, enabled)
            }
            Some(_) | None => Ok(TreeSettings {
                limits: self.limits.clone(),
                families: self.families.clone(),
                types: self.types.clone(),
                recovery: self.recovery,
            }),
        }
    }
}

/// What a session said of its tree when it was configured, as its log has it last. A
/// configuration that says nothing of it leaves it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KeptSettings {
    /// How it is told of its children.
    pub callback: Option<CallbackConfig>,
    /// Whether it is offered tools for agents.
    pub enabled: Option<bool>,
}

impl KeptSettings {
    pub(super) fn of(records: &[TreeRecord]) -> Self {
        let mut kept = Self::default();
        for record in records {
            match &record.fact {
                TreeFact::Kept(AgentMetadata::Callback(config)) => {
                    kept.callback = Some(config.clone());
                }
                TreeFact::Kept(AgentMetadata::Enabled { enabled }) => kept.enabled = Some(*enabled),
                _ => {}
            }
        }
        kept
    }

    /// Reads what the root of a tree said. A session that said something has a tree.
    pub(crate) async fn read(
        store: &dyn SessionStore,
        root: SessionId,
    ) -> Result<Self, StoreError> {
        let lines = match store.agent_lines(root).await {
            Ok(lines) => lines.lines,
            Err(StoreError::NotFound { .. }) => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let own = lines.into_iter().map(|(_, line)| line);
        let own = own.filter(|line| line.tree == root);
        let mut records: Vec<TreeRecord> = own.map(|line| line.record).collect();
        records.sort_by_key(|record| record.order);
        Ok(Self::of(&records))
    }
}

/// What holds for the session now.
#[derive(Debug)]
pub(super) struct CurrentSettings(Mutex<HeldSettings>);

#[derive(Debug)]
struct HeldSettings {
    settings: TreeSettings,
    /// The settings that the root was configured with; its children have them too.
    config: Map<String, Value>,
    /// How the root is told of its children; they inherit it.
    callback: CallbackConfig,
    /// What was said of that and is not in the log yet, the newest last.
    said: Option<Vec<Map<String, Value>>>,
    /// What the root said of its tools for agents.
    enabled: Option<bool>,
    /// Whether that is not in the log yet.
    enabled_is_new: bool,
}

/// Returns what was kept with what has been said since.
fn over(kept: CallbackConfig, said: Option<&[Map<String, Value>]>) -> CallbackConfig {
    let said = said.unwrap_or_default().iter();
    said.fold(kept, |held, said| callback::of_session(&held, said))
}

impl CurrentSettings {
    pub(super) fn new(options: &TreeOptions, settings: TreeSettings) -> Self {
        Self(Mutex::new(HeldSettings {
            settings,
            config: Map::new(),
            callback: options.callback.clone(),
            said: (!options.callback_asked.is_empty())
                .then(|| vec![options.callback_asked.clone()]),
            enabled: None,
            enabled_is_new: false,
        }))
    }

    /// Takes a configuration of the root. What it does not say of callbacks stays as it is: that
    /// is a property of the session.
    pub(super) fn take(&self, settings: TreeSettings, config: &Map<String, Value>) {
        let mut held = self.held();
        held.settings = settings;
        held.config.clone_from(config);
        if callback::is_said(config) {
            held.callback = callback::of_session(&held.callback, config);
            held.said.get_or_insert_default().push(config.clone());
        }
        if let Some(said) = enabled_in(config) {
            held.enabled_is_new |= held.enabled != Some(said);
            held.enabled = Some(said);
        }
    }

    /// Begins with what an earlier run of the session said, or the one that it is a fork of;
    /// the fork has yet to write it down. Comes before [`Self::take`].
    pub(super) fn begin_with(&self, kept: KeptSettings, origin: SettingsLog) {
        let mut held = self.held();
        let is_new = origin == SettingsLog::Source;
        if let Some(callback) = kept.callback {
            held.callback = over(callback, held.said.as_deref());
            if is_new {
                held.said.get_or_insert_default();
            }
        }
        if let Some(enabled) = kept.enabled {
            held.enabled = Some(enabled);
            held.enabled_is_new = is_new;
        }
    }

    /// Tells whether there is something to write down.
    pub(super) fn has_news(&self) -> bool {
        let held = self.held();
        held.said.is_some() || held.enabled_is_new
    }

    /// Returns what the root said of its tools for agents, if it is not written down yet.
    pub(super) fn take_unwritten_enabled(&self) -> Option<bool> {
        let mut held = self.held();
        let is_new = std::mem::take(&mut held.enabled_is_new);
        held.enabled.filter(|_| is_new)
    }

    /// Returns what the root said of its tools for agents.
    pub(super) fn enabled(&self) -> Option<bool> {
        self.held().enabled
    }

    /// Returns how the root is to be told, if it was said and not written down yet. `kept` is
    /// what its log has of it.
    pub(super) fn settle_callback(&self, kept: Option<CallbackConfig>) -> Option<CallbackConfig> {
        let mut held = self.held();
        let said = held.said.take();
        if let Some(kept) = kept {
            held.callback = over(kept, said.as_deref());
        }
        said.map(|_| held.callback.clone())
    }

    pub(super) fn callback(&self) -> CallbackConfig {
        self.held().callback.clone()
    }

    /// Takes how the root is told from now on; whoever sets it writes it down.
    pub(super) fn set_callback(&self, config: CallbackConfig) {
        self.held().callback = config;
    }

    pub(super) fn tree(&self) -> TreeSettings {
        self.held().settings.clone()
    }

    pub(super) fn config(&self) -> Map<String, Value> {
        self.held().config.clone()
    }

    fn held(&self) -> MutexGuard<'_, HeldSettings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns what settings say of tools for agents: `agents.enabled`, however it is written.
fn enabled_in(config: &Map<String, Value>) -> Option<bool> {
    let section = config.get("agents").and_then(|it| it.get("enabled"));
    let said = config.get("agents.enabled").or(section);
    said.and_then(Value::as_bool)
}
