//! Which model answers, and how.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_model::ProviderConfig;
use troupe_protocol::policy::{ReasoningEffort, ReasoningSummary};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ModelSettings {
    /// The model's name at its provider.
    pub model: String,
    /// Which of `model_providers`, or of the built-in ones, is asked.
    pub model_provider: String,
    /// Where models are asked, by name.
    pub model_providers: BTreeMap<String, ProviderConfig>,
    /// Another address for the provider `openai`.
    pub openai_base_url: Option<String>,
    /// How hard the model thinks; its own default if absent.
    pub model_reasoning_effort: Option<ReasoningEffort>,
    /// How much of its reasoning it summarises.
    pub model_reasoning_summary: ReasoningSummary,
    /// Tokens that fit into a request, for models that are not in the catalogue.
    pub model_context_window: Option<u64>,
    /// Tokens of history at which it is summarised.
    pub model_auto_compact_token_limit: Option<u64>,
}
