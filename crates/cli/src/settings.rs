//! The settings of the program, by topic. Key names are those of the Codex family wherever
//! the meaning is the same, so that people can bring their files along.
//!
//! Each topic is a struct that reads its own keys of the one table; [`schema`] is the union
//! of all of them and tells which keys exist.

mod agents;
mod conversation;
mod deprecated;
mod hooks;
mod integrations;
mod log;
mod model;
#[cfg(test)]
mod reference;
mod rights;
mod screen;
mod serve;
mod undo;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_config::{Config, ConfigError, KeyPath};
use troupe_model::ProviderConfig;

pub use agents::{AgentSettings, AgentTree};
pub use conversation::ConversationSettings;
pub use deprecated::DeprecatedSetting;
pub use hooks::HooksSettings;
pub use integrations::IntegrationSettings;
pub use log::LogSettings;
pub use model::ModelSettings;
pub use rights::RightsSettings;
pub use screen::ScreenSettings;
pub use serve::ServeSettings;
pub use undo::UndoSettings;

/// Returns the lowest layer: our defaults, and the providers that need no configuration.
/// Being a layer like any other, one key of a built-in provider can be changed alone.
pub fn defaults() -> &'static str {
    static DEFAULTS: LazyLock<String> = LazyLock::new(|| {
        let providers = BTreeMap::from([("model_providers", ProviderConfig::built_in())]);
        let providers =
            toml::to_string(&providers).expect("tables of text, numbers and flags are TOML");
        format!("{}\n{providers}", include_str!("defaults.toml"))
    });
    &DEFAULTS
}

/// Every setting, typed.
#[derive(Debug, Clone)]
pub struct Settings {
    pub model: ModelSettings,
    pub rights: RightsSettings,
    pub conversation: ConversationSettings,
    pub agents: AgentTree,
    pub integrations: IntegrationSettings,
    pub undo: UndoSettings,
    pub hooks: HooksSettings,
    pub screen: ScreenSettings,
    pub serve: ServeSettings,
    pub log: LogSettings,
}

impl Settings {
    pub fn read(config: &Config) -> Result<Self, ConfigError> {
        // Read for their errors: trust and profiles were used while the layers were merged, and
        // a profile that is not chosen today is tomorrow.
        config.get::<Selection>(&KeyPath::root())?;
        for name in config.profiles() {
            Self::topics(&config.with_profile(name)?)?;
        }
        Self::topics(config)
    }

    /// Tells whether a model provider was named and no model of it.
    pub fn lacks_model(&self, config: &Config) -> bool {
        let is_program = |id| self.integrations.backends.contains_key(id);
        !is_program(&self.model.model_provider) && self.model.lacks_model(config)
    }

    fn topics(config: &Config) -> Result<Self, ConfigError> {
        let root = KeyPath::root();
        let settings = Self {
            model: config
                .get::<ModelSettings>(&root)?
                .with_fitting_provider(config),
            rights: config.get(&root)?,
            conversation: config.get(&root)?,
            agents: config.get::<AgentSettings>(&root)?.agents,
            integrations: config.get(&root)?,
            undo: config.get(&root)?,
            hooks: config.get(&root)?,
            screen: config.get(&root)?,
            serve: config.get(&root)?,
            log: config.get(&root)?,
        };
        let backends = &settings.integrations.backends;
        settings.model.check(config, backends)?;
        settings.rights.check(config)?;
        Ok(settings)
    }
}

/// Returns the JSON Schema of a configuration file: the one that is checked in, which a test
/// holds to the types. Every run needs it, and to make it from them takes longer.
pub fn schema() -> serde_json::Value {
    serde_json::from_str(include_str!("../schema/config.schema.json"))
        .expect("what a test compares with the schema of the types is JSON")
}

/// Makes the schema from the types. Nothing in a file is required: what is absent comes from
/// another layer.
#[cfg(test)]
fn schema_of_types() -> serde_json::Value {
    let mut schema = schemars::schema_for!(ConfigFile).to_value();
    for layered in [
        "",
        "/$defs/Topics",
        "/$defs/AgentTree",
        "/$defs/Undo",
        "/$defs/DiagnosticLog",
    ] {
        if let Some(table) = schema
            .pointer_mut(layered)
            .and_then(|it| it.as_object_mut())
        {
            table.remove("required");
        }
    }
    schema
}

/// Which layers count.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read for the errors and the schema")]
struct Selection {
    /// The profile to use when none is named on the command line.
    profile: Option<String>,
    /// Sets of settings, chosen by name.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Topics>")]
    profiles: BTreeMap<String, serde_json::Map<String, serde_json::Value>>,
    /// What is known about directories, by absolute path.
    #[serde(default)]
    projects: BTreeMap<String, Project>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "read for the errors and the schema")]
struct Project {
    /// Whether its own settings count; `troupe trust` writes it.
    trust_level: Option<TrustLevel>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TrustLevel {
    /// Its `.troupe/config.toml` counts.
    Trusted,
    Untrusted,
}

/// What a profile may set.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Topics {
    #[serde(flatten)]
    model: ModelSettings,
    #[serde(flatten)]
    rights: RightsSettings,
    #[serde(flatten)]
    conversation: ConversationSettings,
    #[serde(flatten)]
    agents: AgentSettings,
    #[serde(flatten)]
    integrations: IntegrationSettings,
    #[serde(flatten)]
    undo: UndoSettings,
    #[serde(flatten)]
    hooks: HooksSettings,
    #[serde(flatten)]
    screen: ScreenSettings,
    #[serde(flatten)]
    serve: ServeSettings,
    #[serde(flatten)]
    log: LogSettings,
}

/// A `config.toml`.
#[cfg(test)]
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ConfigFile {
    #[serde(flatten)]
    topics: Topics,
    #[serde(flatten)]
    selection: Selection,
}

#[cfg(test)]
mod tests;
