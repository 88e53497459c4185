//! A server behind an address, spoken to by streamable HTTP.

use std::collections::{BTreeMap, HashMap};

use http::{HeaderName, HeaderValue};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

use crate::environment::missing;
use crate::limits::MESSAGE_BYTES_MAX;

/// What an address is reached with.
#[derive(Debug)]
pub(crate) struct HttpTarget<'a> {
    pub url: &'a str,
    pub bearer_token_env_var: Option<&'a str>,
    pub http_headers: &'a BTreeMap<String, String>,
    pub env_http_headers: &'a BTreeMap<String, String>,
}

impl HttpTarget<'_> {
    /// Tells whether the configuration says itself who asks. Then a login is not used.
    pub(crate) fn has_own_authorization(&self) -> bool {
        let mut names = self.http_headers.keys().chain(self.env_http_headers.keys());
        let is_it = |name: &String| name.eq_ignore_ascii_case("authorization");
        self.bearer_token_env_var.is_some() || names.any(is_it)
    }
}

/// Makes what the transport is made of, or says what is wrong with the configuration.
pub(crate) fn parts(
    address: &HttpTarget<'_>,
    variables: &BTreeMap<String, String>,
) -> Result<(reqwest::Client, StreamableHttpClientTransportConfig), String> {
    let mut headers = HashMap::new();
    for (name, value) in address.http_headers {
        let (name, value) = header("http_headers", name, value)?;
        headers.insert(name, value);
    }
    for (name, variable) in address.env_http_headers {
        let value = variables
            .get(variable)
            .ok_or_else(|| missing("env_http_headers", variable))?;
        let (name, value) = header("env_http_headers", name, value)?;
        headers.insert(name, value);
    }
    let mut config =
        StreamableHttpClientTransportConfig::with_uri(address.url).custom_headers(headers);
    config.max_sse_event_size = MESSAGE_BYTES_MAX;
    if let Some(variable) = address.bearer_token_env_var {
        let token = variables
            .get(variable)
            .ok_or_else(|| missing("bearer_token_env_var", variable))?;
        config = config.auth_header(token.trim());
    }
    // A redirect could carry the token elsewhere.
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| format!("no HTTP client can be made: {error}"))?;
    Ok((client, config))
}

fn header(key: &str, name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let header = HeaderName::try_from(name)
        .map_err(|_| format!("{key} has the name {name:?}, which no header can have"))?;
    // Its value may be a secret, so it is not repeated.
    let mut value = HeaderValue::try_from(value)
        .map_err(|_| format!("{key} has a value for {name} that no header can have"))?;
    value.set_sensitive(true);
    Ok((header, value))
}
