//! Adds the agent tree to what sessions are opened with.

use std::sync::Arc;

use troupe_agents::desk::{Catalogue, ModelChoice};
use troupe_agents::roles::Roles;
use troupe_agents::{Grove, Options, Recovery};
use troupe_engine::Deps;
use troupe_model::catalogue::{self, ModelInfo};
use troupe_protocol::policy::ReasoningEffort;

use crate::settings::Settings;
use crate::wiring::Wiring;

impl Wiring {
    /// Goes over to a tree of sessions. `recovery` is what was asked for beside the
    /// configuration.
    pub fn with_agents(self, recovery: Option<Recovery>) -> Grove {
        let options = self.tree_options(recovery);
        Grove::new(Deps::new(Arc::new(self)), options)
    }

    pub(super) fn tree_options(&self, recovery: Option<Recovery>) -> Options {
        let settings = &self.here().settings;
        Options {
            limits: settings.agents.limits(),
            families: settings.agents.families().to_vec(),
            roles: Arc::new(Roles::new(self.source.home.path())),
            catalogue: Arc::new(Models::of(settings)),
            callback: settings.agents.callback.clone(),
            recovery: recovery.unwrap_or_else(|| settings.agents.recovery()),
        }
    }
}

/// The models, and the programs in their place, that a child can be given by name.
#[derive(Debug)]
struct Models {
    choices: Vec<ModelChoice>,
    backends: Vec<String>,
}

impl Models {
    /// A server whose model we do not know hardly has the ones that we know; naming them
    /// would lead its model astray. There the configured one is all there is.
    fn of(settings: &Settings) -> Self {
        let own = &settings.model.model;
        let maker = catalogue::lookup(own).map(|info| info.maker);
        let mut choices: Vec<ModelChoice> = catalogue::models()
            .iter()
            .filter(|info| Some(info.maker) == maker)
            .map(|info| ModelChoice {
                name: info.slug.clone(),
                efforts: efforts(info),
            })
            .collect();
        if !choices.iter().any(|choice| choice.name == *own) {
            choices.push(ModelChoice {
                name: own.clone(),
                efforts: catalogue::lookup(own).map_or_else(Vec::new, efforts),
            });
        }
        Self {
            choices,
            backends: settings.integrations.backends.keys().cloned().collect(),
        }
    }
}

/// No efforts would mean that nobody knows which it takes.
fn efforts(model: &ModelInfo) -> Vec<ReasoningEffort> {
    if model.efforts.is_empty() {
        vec![ReasoningEffort::None]
    } else {
        model.efforts.clone()
    }
}

impl Catalogue for Models {
    fn models(&self) -> Option<Vec<ModelChoice>> {
        Some(self.choices.clone())
    }

    fn backends(&self) -> Vec<String> {
        self.backends.clone()
    }
}
