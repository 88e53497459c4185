//! The configuration, and who decided what.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ConfigReadParams {
    #[serde(default)]
    pub include_layers: bool,
    /// The server's own directory if absent.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ConfigReadResponse {
    /// Every effective value, by the names of `config.toml`. Secrets are blotted out.
    pub config: Value,
    /// Who decided a value, by its dotted key. What is built in has no origin.
    pub origins: BTreeMap<String, ConfigOrigin>,
    /// What each layer decided, the strongest first.
    pub layers: Option<Vec<ConfigLayer>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ConfigOrigin {
    pub name: ConfigLayerSource,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ConfigLayer {
    pub name: ConfigLayerSource,
    pub config: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ConfigLayerSource {
    User {
        file: PathBuf,
    },
    /// The directory that holds the project's `config.toml`.
    Project {
        dot_codex_folder: PathBuf,
    },
    /// Ours. A table `[profiles.NAME]` of this file.
    Profile {
        file: PathBuf,
    },
    /// What the server was started with.
    SessionFlags,
}
