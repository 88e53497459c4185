//! A server behind an address, spoken to by streamable HTTP.

use std::collections::{BTreeMap, HashMap};

use http::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
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

/// Makes the transport, or says what is wrong with the configuration.
pub(crate) fn transport(
    address: &HttpTarget<'_>,
    variables: &BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
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
    Ok(StreamableHttpClientTransport::with_client(client, config))
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
