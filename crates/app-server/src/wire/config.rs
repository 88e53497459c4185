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
    /// Tells the content of the layer from any other.
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ConfigLayer {
    pub name: ConfigLayerSource,
    pub version: String,
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

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ConfigValueWriteParams {
    /// Dotted; a part that holds dots is quoted.
    pub key_path: String,
    /// Null takes the key away.
    pub value: Value,
    pub merge_strategy: MergeStrategy,
    /// The user's file, which is the only one that is written.
    #[serde(default)]
    pub file_path: Option<PathBuf>,
    /// The `version` of the user's layer as it was read. Nothing is written if it is another by
    /// now.
    #[serde(default)]
    pub expected_version: Option<String>,
}

/// Several changes, all or none.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ConfigBatchWriteParams {
    pub edits: Vec<ConfigEdit>,
    #[serde(default)]
    pub file_path: Option<PathBuf>,
    #[serde(default)]
    pub expected_version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ConfigEdit {
    pub key_path: String,
    pub value: Value,
    pub merge_strategy: MergeStrategy,
}

/// What becomes of a table that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum MergeStrategy {
    Replace,
    /// Keys that the new one does not name stay.
    Upsert,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ConfigWriteResponse {
    pub status: WriteStatus,
    pub version: String,
    pub file_path: PathBuf,
    pub overridden_metadata: Option<OverriddenMetadata>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum WriteStatus {
    Ok,
    /// It was written, and a stronger layer has another value.
    OkOverridden,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct OverriddenMetadata {
    pub message: String,
    pub overriding_layer: ConfigOrigin,
    pub effective_value: Value,
}
