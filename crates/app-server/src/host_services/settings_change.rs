//! How a client's changes to the configuration are handed over, and what comes back.

use std::path::PathBuf;

use serde_json::Value;

use super::SettingSource;

/// Changes to the user's file, all or none.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingsChange {
    pub edits: Vec<SettingEdit>,
    /// The file that the client thinks it changes; the user's if absent.
    pub file: Option<PathBuf>,
    /// The content that the client knows; it must not have changed since.
    pub expected_version: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SettingEdit {
    /// Dotted, as people write it.
    pub key: String,
    /// Null takes the key away.
    pub value: Value,
    pub merge: SettingMerge,
}

/// What becomes of a table that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingMerge {
    Replace,
    /// Keys that the new one does not name stay.
    Upsert,
}

/// A file that was changed.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingsWriteResult {
    pub file: PathBuf,
    pub version: String,
    /// A value that was written and does not hold, because a stronger layer has another.
    pub overridden: Option<OverriddenSetting>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct OverriddenSetting {
    pub key: String,
    pub effective: Value,
    pub by: SettingSource,
}

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteRefusal {
    /// Another file than the user's is meant.
    #[error("{0}")]
    ReadOnly(String),
    /// Somebody has changed the file since the client read it.
    #[error("{0}")]
    Conflict(String),
    /// No setting has this key.
    #[error("{0}")]
    UnknownKey(String),
    /// The configuration would not be usable.
    #[error("{0}")]
    Invalid(String),
    #[error("{0}")]
    Failed(String),
}
