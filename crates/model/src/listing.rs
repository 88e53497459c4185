//! Asking a provider which models it has.
//!
//! `GET …/models` answers alike at every provider that we know of, `{"data": [{"id": …}]}`;
//! beyond the id, servers tell the context window in fields of their own. What they leave out
//! is taken from the catalogue.

use std::time::Duration;

use http::{HeaderValue, header};
use serde::Deserialize;
use tokio::time::timeout;
use troupe_protocol::catalogue::ModelEntry;

use crate::catalogue;
use crate::error::{ModelError, ModelErrorKind};
use crate::http::{ProviderEndpoint, causes, read_up_to};
use crate::limits::{MODELS_BYTES_MAX, MODELS_LISTED_MAX, MODELS_NAMED_MAX, MODELS_TIMEOUT_MS};
use crate::wire::fault::ProviderComplaint;

impl ProviderEndpoint {
    /// Asks once. Whoever asked can ask again, so nothing is retried.
    pub(crate) async fn models(&self) -> Result<Vec<ModelEntry>, ModelError> {
        let limit = Duration::from_millis(MODELS_TIMEOUT_MS);
        let answer = match timeout(limit, self.fetch_models()).await {
            Ok(answer) => answer,
            Err(_) => Err(failed(format!("no answer within {MODELS_TIMEOUT_MS} ms"))),
        };
        answer.map_err(|mut error| {
            let message = format!("{} at {}: {}", self.id, self.server(), error.message);
            error.message = self.without_secrets(message);
            error
        })
    }

    async fn fetch_models(&self) -> Result<Vec<ModelEntry>, ModelError> {
        let mut headers = self.headers.clone();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::ACCEPT, json);
        let request = self.client()?.get(self.models_url()).headers(headers);
        let response = request
            .send()
            .await
            .map_err(|error| failed(causes(error)))?;
        let status = response.status();
        let body = read_up_to(response, MODELS_BYTES_MAX).await;
        if !status.is_success() {
            let mut error = ProviderComplaint::parse(&body).into_http_error(status.as_u16());
            error.message = format!("{status}: {}", error.message);
            return Err(error);
        }
        parse(&body).map_err(failed)
    }

    /// Returns the address of the list, which lies beside that of the responses.
    fn models_url(&self) -> reqwest::Url {
        let mut url = self.url.clone();
        let path = url.path();
        let base = path.strip_suffix(self.wire.path()).unwrap_or(path);
        let path = format!("{base}/models");
        url.set_path(&path);
        url
    }
}

/// Returns that a server does not list a model, and what it lists. Under another date it is the
/// same model; a list that was cut tells nothing.
pub(crate) fn unlisted(
    endpoint: &ProviderEndpoint,
    listed: &[ModelEntry],
    model: &str,
) -> Option<String> {
    // Ollama's tag of the newest is left out as a date is.
    fn plain(name: &str) -> &str {
        catalogue::without_date(name).trim_end_matches(":latest")
    }
    let is_model = |entry: &ModelEntry| plain(&entry.model) == plain(model);
    if listed.is_empty() || listed.len() >= MODELS_LISTED_MAX || listed.iter().any(is_model) {
        return None;
    }
    let names = listed.iter().map(|entry| entry.model.as_str());
    let mut names: Vec<&str> = names.take(MODELS_NAMED_MAX).collect();
    if listed.len() > names.len() {
        names.push("…");
    }
    Some(format!(
        "{} at {} does not list the model {model} and may refuse it, or answer with another; it \
         lists {}",
        endpoint.id,
        endpoint.server(),
        names.join(", ")
    ))
}

fn failed(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::ConnectionFailed, message)
}

#[derive(Deserialize)]
struct ModelListing {
    data: Vec<ListedModel>,
}

#[derive(Deserialize)]
struct ListedModel {
    id: String,
    /// vLLM.
    max_model_len: Option<u64>,
    /// Gateways in front of many providers.
    context_length: Option<u64>,
    context_window: Option<u64>,
    /// Anthropic.
    max_input_tokens: Option<u64>,
    /// llama.cpp.
    meta: Option<LlamaMeta>,
}

#[derive(Deserialize)]
struct LlamaMeta {
    n_ctx: Option<u64>,
    n_ctx_train: Option<u64>,
}

fn parse(body: &str) -> Result<Vec<ModelEntry>, String> {
    let listing: ModelListing = serde_json::from_str(body)
        .map_err(|error| format!("the answer is not a list of models: {error}"))?;
    let named = listing
        .data
        .into_iter()
        .filter(|model| !model.id.is_empty());
    Ok(named
        .take(MODELS_LISTED_MAX)
        .map(ListedModel::into_entry)
        .collect())
}

impl ListedModel {
    fn into_entry(self) -> ModelEntry {
        let meta = self.meta.as_ref();
        let told = self
            .max_model_len
            .or(self.context_length)
            .or(self.context_window)
            .or(self.max_input_tokens)
            .or(meta.and_then(|meta| meta.n_ctx.or(meta.n_ctx_train)))
            .filter(|tokens| *tokens > 0);
        let known = match catalogue::lookup(&self.id) {
            Some(info) => info.entry(),
            None => ModelEntry::named(""),
        };
        ModelEntry {
            model: self.id,
            context_window: told.or(known.context_window),
            ..known
        }
    }
}

#[cfg(test)]
mod tests;
