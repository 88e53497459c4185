//! Which servers there are and how to reach them.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::{HttpModel, ProviderEndpoint};
use crate::limits::{
    REQUEST_RETRIES_DEFAULT, RETRIES_MAX, STREAM_IDLE_TIMEOUT_MS_DEFAULT, STREAM_RETRIES_DEFAULT,
};
use crate::model::LanguageModel;
use crate::retry::RetryJitter;
use crate::wire::{FreeformOffer, OutputBound, ProviderWire, WireApi};

const X_API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");

/// One `[model_providers.NAME]` section.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProviderConfig {
    /// For people; the section's name if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where the API begins, such as `https://api.openai.com/v1`.
    pub base_url: String,
    /// The environment variable that holds the key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_key: Option<String>,
    /// Whether a missing key is an error; by default it is where `env_key` is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requires_key: Option<bool>,
    pub wire_api: WireApi,
    /// Sent with every request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub http_headers: BTreeMap<String, String>,
    /// Header → environment variable that holds its value; left out if that is unset.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env_http_headers: BTreeMap<String, String>,
    /// Added to the URL of every request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub query_params: BTreeMap<String, String>,
    /// How often a request that got no response is repeated (default 4, at most 100).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_max_retries: Option<u32>,
    /// How often a response that broke is begun again (default 5, at most 100).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_max_retries: Option<u32>,
    /// A stream that is silent for this long is broken (default 300,000).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_idle_timeout_ms: Option<NonZeroU64>,
    /// The server keeps responses, so that a request may continue from one and need not
    /// repeat the history.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stateful: bool,
    /// The server knows tools that take free text (default true); otherwise they are
    /// offered as functions. Only the responses wire has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub freeform_tools: Option<bool>,
    /// The most tokens that one answer may have (default: the server's own bound; on the messages
    /// wire, which must be told, what the model is known to write at most, else 32,000).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
}

/// A value of a provider's section that cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadSetting {
    /// Its place in the section.
    pub key: Vec<String>,
    /// Without the values of headers: those may be keys.
    pub problem: String,
}

/// Why a provider cannot be used as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    #[error("model provider {provider} needs a key: set {env_key}")]
    KeyMissing { provider: String, env_key: String },
    #[error("model provider {provider}: base_url {base_url:?} is not an http or https URL")]
    BadBaseUrl { provider: String, base_url: String },
    #[error("model provider {provider}: header {header:?} has a name or value that HTTP forbids")]
    BadHeader { provider: String, header: String },
    #[error("model provider {provider}: the key has characters that HTTP forbids")]
    BadKey { provider: String },
}

impl ProviderConfig {
    /// Returns the providers that need no configuration, by name.
    pub fn built_in() -> &'static BTreeMap<String, Self> {
        static BUILT_IN: LazyLock<BTreeMap<String, ProviderConfig>> = LazyLock::new(|| {
            toml::from_str(include_str!("providers.toml"))
                .expect("the embedded providers are read by a test of this crate")
        });
        &BUILT_IN
    }

    /// Fills in the headers that come from the environment, which only the caller reads.
    pub fn with_env(mut self, env: impl Fn(&str) -> Option<String>) -> Self {
        for (header, variable) in std::mem::take(&mut self.env_http_headers) {
            if let Some(value) = env(&variable).filter(|value| !value.trim().is_empty()) {
                self.http_headers.insert(header, value);
            }
        }
        self
    }

    /// Tells servers which program asks, unless the configuration already does.
    pub fn with_user_agent(mut self, agent: &str) -> Self {
        let name = header::USER_AGENT;
        let mut configured = self.http_headers.keys();
        if !configured.any(|header| header.eq_ignore_ascii_case(name.as_str())) {
            self.http_headers
                .insert(name.as_str().to_owned(), agent.to_owned());
        }
        self
    }

    /// Finds a value that no request can be made with. That there is no address at all is for
    /// whoever asks the provider to say.
    pub fn bad_setting(&self) -> Option<BadSetting> {
        if !self.base_url.is_empty() && !is_web_address(&self.base_url) {
            let problem = format!("expected an http or https URL, found {:?}", self.base_url);
            return Some(BadSetting {
                key: vec!["base_url".to_owned()],
                problem,
            });
        }
        let sent = self.http_headers.iter().map(|(name, value)| {
            let is_good = is_header_name(name) && sensitive_header(value).is_some();
            ("http_headers", name, is_good)
        });
        let read = self.env_http_headers.keys();
        let read = read.map(|name| ("env_http_headers", name, is_header_name(name)));
        let bad = sent.chain(read).find(|(_, _, is_good)| !is_good);
        bad.map(|(table, name, _)| BadSetting {
            key: vec![table.to_owned(), name.clone()],
            problem: "expected a header's name and value, and HTTP forbids one of them".to_owned(),
        })
    }

    /// Makes the model that this configuration describes. Nothing is sent yet.
    pub fn connect(
        &self,
        id: &str,
        key: Option<String>,
    ) -> Result<Arc<dyn LanguageModel>, ConnectError> {
        self.connect_with(id, key, RetryJitter::Random)
    }

    /// [`Self::connect`] with a choice of where the jitter of retries comes from.
    pub fn connect_with(
        &self,
        id: &str,
        key: Option<String>,
        jitter: RetryJitter,
    ) -> Result<Arc<dyn LanguageModel>, ConnectError> {
        let key = key.map(|key| key.trim().to_owned());
        let key = key.filter(|key| !key.is_empty());
        if key.is_none() && self.requires_key.unwrap_or(self.env_key.is_some()) {
            return Err(ConnectError::KeyMissing {
                provider: id.to_owned(),
                env_key: self.env_key.clone().unwrap_or_else(|| "env_key".to_owned()),
            });
        }
        let wire = self.wire();
        let retries =
            |configured: Option<u32>, default| configured.unwrap_or(default).min(RETRIES_MAX);
        let idle_timeout_ms = self
            .stream_idle_timeout_ms
            .map_or(STREAM_IDLE_TIMEOUT_MS_DEFAULT, NonZeroU64::get);
        Ok(Arc::new(HttpModel::new(ProviderEndpoint {
            id: id.to_owned(),
            url: self.url(id, wire)?,
            headers: self.headers(id, key.as_deref())?,
            wire,
            request_retries_max: retries(self.request_max_retries, REQUEST_RETRIES_DEFAULT),
            stream_retries_max: retries(self.stream_max_retries, STREAM_RETRIES_DEFAULT),
            idle_timeout: Duration::from_millis(idle_timeout_ms),
            jitter,
            key_hint: match &self.env_key {
                Some(variable) => format!("; check the key in {variable}"),
                None => "; the provider has no env_key configured".to_owned(),
            },
            client: OnceLock::new(),
            has_kept: AtomicBool::new(false),
        })))
    }

    pub(crate) fn wire(&self) -> ProviderWire {
        match self.wire_api {
            WireApi::Responses => ProviderWire::Responses {
                freeform: if self.freeform_tools.unwrap_or(true) {
                    FreeformOffer::Native
                } else {
                    FreeformOffer::AsFunction
                },
                stateful: self.stateful,
                output_tokens_max: self.max_output_tokens,
            },
            WireApi::Chat => ProviderWire::Chat {
                output_tokens_max: self.max_output_tokens.map(|tokens| OutputBound {
                    // The maker of the wire has given the field another name, which servers that
                    // speak it too hardly know.
                    field: if self.base_url == Self::built_in()["openai"].base_url {
                        "max_completion_tokens"
                    } else {
                        "max_tokens"
                    },
                    tokens,
                }),
            },
            WireApi::Messages => ProviderWire::Messages {
                output_tokens_max: self.max_output_tokens,
            },
        }
    }

    fn url(&self, id: &str, wire: ProviderWire) -> Result<reqwest::Url, ConnectError> {
        let text = format!(
            "{}{}",
            self.base_url.trim().trim_end_matches('/'),
            wire.path()
        );
        let mut url = web_address(&text).ok_or_else(|| ConnectError::BadBaseUrl {
            provider: id.to_owned(),
            base_url: self.base_url.clone(),
        })?;
        if !self.query_params.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query_params);
        }
        Ok(url)
    }

    fn headers(&self, id: &str, key: Option<&str>) -> Result<HeaderMap, ConnectError> {
        let mut headers = HeaderMap::new();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
        headers.insert(
            header::ACCEPT,
            HeaderValue::from_static("text/event-stream"),
        );
        headers.insert(header::USER_AGENT, HeaderValue::from_static("troupe"));
        let (key_header, key) = match self.wire_api {
            WireApi::Responses | WireApi::Chat => (
                header::AUTHORIZATION,
                key.map(|key| format!("Bearer {key}")),
            ),
            WireApi::Messages => {
                headers.insert(ANTHROPIC_VERSION, HeaderValue::from_static("2023-06-01"));
                (X_API_KEY, key.map(str::to_owned))
            }
        };
        if let Some(key) = key {
            let value = sensitive_header(&key).ok_or_else(|| ConnectError::BadKey {
                provider: id.to_owned(),
            })?;
            headers.insert(key_header, value);
        }
        for (name, value) in &self.http_headers {
            let pair = name.parse::<HeaderName>().ok().zip(sensitive_header(value));
            let (name, value) = pair.ok_or_else(|| ConnectError::BadHeader {
                provider: id.to_owned(),
                header: name.clone(),
            })?;
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

/// Tells whether requests can be sent to an address.
pub fn is_web_address(text: &str) -> bool {
    web_address(text).is_some()
}

fn web_address(text: &str) -> Option<reqwest::Url> {
    let url = reqwest::Url::parse(text.trim()).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

fn is_header_name(text: &str) -> bool {
    text.parse::<HeaderName>().is_ok()
}

fn sensitive_header(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Names headers and parameters but not their values: those may be keys.
impl fmt::Debug for ProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderConfig")
            .field("name", &self.name)
            .field("base_url", &self.base_url)
            .field("env_key", &self.env_key)
            .field("wire_api", &self.wire_api)
            .field("http_headers", &self.http_headers.keys())
            .field("env_http_headers", &self.env_http_headers)
            .field("query_params", &self.query_params.keys())
            .field("stateful", &self.stateful)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
