//! What a session says of its tree when it is configured, and says anew when it is configured
//! again: limits, tools, how it is told of its children.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use troupe_engine::ConfigureError;
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::spawn::CallbackConfig;

use super::handle::{Options, Recovery};
use crate::callback;
use crate::families::Family;
use crate::roles::TypeChoices;
use crate::tree::Limits;

/// Reads the section `[agents]` for one session.
pub trait SettingsReader: Send + Sync + fmt::Debug {
    /// Returns what holds for a session that is configured like this.
    fn read(&self, request: &ConfigureSession) -> Result<TreeSettings, ConfigureError>;
}

/// The section `[agents]` as it holds for one session.
#[derive(Debug, Clone)]
pub struct TreeSettings {
    pub limits: Limits,
    /// The tool families that agents are offered.
    pub families: Vec<Family>,
    /// Models and efforts of roles, over what their files say.
    pub types: TypeChoices,
    pub recovery: Recovery,
}

impl Options {
    /// Returns what holds for a session that is configured like this.
    pub(crate) fn settings(
        &self,
        request: &ConfigureSession,
    ) -> Result<TreeSettings, ConfigureError> {
        match &self.reader {
            Some(reader) if !request.config.is_empty() => reader.read(request),
            Some(_) | None => Ok(TreeSettings {
                limits: self.limits.clone(),
                families: self.families.clone(),
                types: self.types.clone(),
                recovery: self.recovery,
            }),
        }
    }
}

/// What holds for the session now.
#[derive(Debug)]
pub(super) struct CurrentSettings(Mutex<Held>);

#[derive(Debug)]
struct Held {
    settings: TreeSettings,
    /// The settings that the root was configured with; its children have them too.
    config: Map<String, Value>,
    /// How the root is told of its children; they inherit it.
    callback: CallbackConfig,
    /// What was said of that and is not in the log yet.
    said: Option<Map<String, Value>>,
}

impl CurrentSettings {
    pub(super) fn new(options: &Options, settings: TreeSettings) -> Self {
        Self(Mutex::new(Held {
            settings,
            config: Map::new(),
            callback: options.callback.clone(),
            said: None,
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
            held.said = Some(config.clone());
        }
    }

    /// Tells whether there is something to write down.
    pub(super) fn has_news(&self) -> bool {
        self.held().said.is_some()
    }

    /// Returns how the root is to be told, if it was said and not written down yet. `kept` is
    /// what its log has of it.
    pub(super) fn settle_callback(&self, kept: Option<CallbackConfig>) -> Option<CallbackConfig> {
        let mut held = self.held();
        let said = held.said.take();
        if let Some(kept) = kept {
            held.callback = match &said {
                Some(said) => callback::of_session(&kept, said),
                None => kept,
            };
        }
        said.map(|_| held.callback.clone())
    }

    pub(super) fn callback(&self) -> CallbackConfig {
        self.held().callback.clone()
    }

    pub(super) fn tree(&self) -> TreeSettings {
        self.held().settings.clone()
    }

    pub(super) fn config(&self) -> Map<String, Value> {
        self.held().config.clone()
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
