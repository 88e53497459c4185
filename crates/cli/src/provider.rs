//! Which provider is asked, and with which key.

use std::env;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use troupe_model::{ConnectError, Model, ProviderConfig};

use crate::settings::Settings;

/// Read before the key of the provider's own variable, for the provider `openai`.
const CODEX_KEY_VARIABLE: &str = "CODEX_API_KEY";

/// How servers see this program.
const USER_AGENT: &str = concat!("troupe/", env!("CARGO_PKG_VERSION"));

/// Finds a provider among the configured and the built-in ones.
pub fn provider(settings: &Settings, id: &str) -> Option<ProviderConfig> {
    let mut provider = settings.model.model_providers.get(id)?.clone();
    if id == "openai"
        && let Some(base_url) = &settings.model.openai_base_url
    {
        provider.base_url.clone_from(base_url);
    }
    Some(provider)
}

/// Returns the name of the variable that holds the provider's key, if it is set.
pub fn key_variable(provider: &ProviderConfig, id: &str) -> Option<String> {
    let codex = (id == "openai").then(|| CODEX_KEY_VARIABLE.to_owned());
    codex
        .into_iter()
        .chain(provider.env_key.clone())
        .find(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Why there is no model to ask.
#[derive(Debug, thiserror::Error)]
pub enum ModelTrouble {
    #[error("there is no model provider {id:?}; known are {}", known.join(", "))]
    UnknownProvider { id: String, known: Vec<String> },
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("cannot use the cassette {}: {error}", path.display())]
    Cassette { path: PathBuf, error: io::Error },
}

pub fn connect(settings: &Settings, id: &str) -> Result<Arc<dyn Model>, ModelTrouble> {
    let provider = provider(settings, id).ok_or_else(|| ModelTrouble::UnknownProvider {
        id: id.to_owned(),
        known: settings.model.model_providers.keys().cloned().collect(),
    })?;
    let key = key_variable(&provider, id).and_then(|name| env::var(name).ok());
    Ok(provider
        .with_env(|name| env::var(name).ok())
        .with_user_agent(USER_AGENT)
        .connect(id, key)?)
}

/// Variables that commands never see.
pub fn secret_variables(settings: &Settings) -> Vec<String> {
    let providers = settings.model.model_providers.values();
    providers
        .flat_map(|provider| {
            provider
                .env_key
                .iter()
                .chain(provider.env_http_headers.values())
        })
        .cloned()
        .chain([CODEX_KEY_VARIABLE.to_owned()])
        .collect()
}
