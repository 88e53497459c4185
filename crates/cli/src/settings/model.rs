//! Which model answers, and how.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_acp::backend::BackendConfig;
use troupe_config::{Config, ConfigError, KeyPath, ValueLayer};
use troupe_model::{ProviderConfig, catalogue, is_web_address};
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
    pub model_context_window: Option<NonZeroU64>,
    /// Tokens of history at which it is summarised.
    pub model_auto_compact_token_limit: Option<NonZeroU64>,
}

impl ModelSettings {
    /// Returns where the model is asked if nobody names a provider: where the catalogue has it.
    pub(super) fn with_fitting_provider(mut self, config: &Config) -> Self {
        if !is_named(config, "model_provider")
            && let Some(id) = self.fitting_provider(&self.model)
        {
            id.clone_into(&mut self.model_provider);
        }
        self
    }

    /// Returns the maker's own provider of a model, if the configured one hardly has it. Behind
    /// another address than the maker's there may be a gateway to everybody.
    pub fn fitting_provider(&self, model: &str) -> Option<&'static str> {
        catalogue::maker_mismatch(&self.model_provider, model)?;
        let own = ProviderConfig::built_in().get(&self.model_provider)?;
        let configured = self.model_providers.get(&self.model_provider)?;
        let is_moved = self.model_provider == "openai" && self.openai_base_url.is_some();
        if is_moved || configured.base_url != own.base_url {
            return None;
        }
        catalogue::provider_of(model).filter(|id| self.model_providers.contains_key(*id))
    }

    /// Tells whether a provider was named and no model: the built-in one is another provider's.
    pub(super) fn lacks_model(&self, config: &Config) -> bool {
        let fitting = catalogue::provider_of(&self.model);
        !is_named(config, "model") && fitting != Some(self.model_provider.as_str())
    }

    /// Refuses values that have the right type and cannot be meant. `backends` are programs that
    /// can be named where a provider is.
    pub(super) fn check(
        &self,
        config: &Config,
        backends: &BTreeMap<String, BackendConfig>,
    ) -> Result<(), ConfigError> {
        if self.model.trim().is_empty() {
            let problem =
                "expected a model's name, found \"\"; `troupe models` tells which there are";
            return Err(config.refuse(&KeyPath::from(["model"]), problem));
        }
        let id = &self.model_provider;
        if !self.model_providers.contains_key(id) && !backends.contains_key(id) {
            let known: Vec<&str> = self.model_providers.keys().map(String::as_str).collect();
            let problem = format!(
                "there is no model provider {id:?}; known are {}",
                known.join(", ")
            );
            return Err(config.refuse(&KeyPath::from(["model_provider"]), problem));
        }
        if let Some(url) = &self.openai_base_url
            && !is_web_address(url)
        {
            let problem = format!("expected an http or https URL, found {url:?}");
            return Err(config.refuse(&KeyPath::from(["openai_base_url"]), problem));
        }
        for (name, provider) in &self.model_providers {
            let section = KeyPath::from(["model_providers", name]);
            if let Some(bad) = provider.bad_setting() {
                let key = bad.key.iter().fold(section, |key, part| key.child(part));
                return Err(config.refuse(&key, bad.problem));
            }
            let base_url = section.child("base_url");
            if provider.base_url.is_empty() && config.find(&base_url).is_some() {
                return Err(config.refuse(&base_url, "expected an http or https URL, found \"\""));
            }
        }
        Ok(())
    }
}

/// Tells whether anybody set a key.
fn is_named(config: &Config, key: &str) -> bool {
    let entry = config.find(&KeyPath::from([key]));
    entry.is_some_and(|entry| entry.origin.layer > ValueLayer::Defaults)
}
