//! Which models there are, as a client is told.

use serde::{Deserialize, Serialize};

use crate::policy::ReasoningEffort;

/// The answer to `list_models`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ModelList {
    pub models: Vec<ModelEntry>,
    pub source: ModelListSource,
    /// Why the list is not what was asked for, or not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Who says which models there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum ModelListSource {
    /// The list that comes with the program.
    BuiltIn,
    /// The provider was asked.
    Provider,
}

/// What is known about one model. What is absent is not known, which does not keep the
/// model from being used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ModelEntry {
    /// As `model` of a turn takes it.
    pub model: String,
    /// The session's tasks run with it unless they say otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_default: bool,
    /// Tokens of input that fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Tokens that it writes at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// The efforts that it takes; empty for a model that does not reason, and for one of
    /// which nothing is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub efforts: Vec<ReasoningEffort>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_effort: Option<ReasoningEffort>,
    /// Whether it sees images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
}

impl ModelEntry {
    /// A model of which only the name is known.
    pub fn named(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            is_default: false,
            context_window: None,
            max_output: None,
            efforts: Vec::new(),
            default_effort: None,
            images: None,
        }
    }
}
