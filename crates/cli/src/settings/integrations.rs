//! Keys that belong to the Codex family and that this version does not act upon. They are
//! read so that a file with a mistake in them is told of, and setting them is answered by
//! a warning, never by silence.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct IntegrationSettings {
    /// Servers of the Model Context Protocol, by name.
    #[serde(default)]
    pub mcp_servers: BTreeMap<String, McpServer>,
    pub web_search: Option<WebSearch>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WebSearch {
    Disabled,
    Cached,
    Live,
}

/// Its fields, except one, are read for their errors and for the schema only.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "nothing connects to these servers yet")]
pub struct McpServer {
    #[serde(flatten)]
    connection: McpConnection,
    enabled: Option<bool>,
    required: Option<bool>,
    startup_timeout_sec: Option<f64>,
    tool_timeout_sec: Option<f64>,
    enabled_tools: Option<Vec<String>>,
    disabled_tools: Option<Vec<String>>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "nothing connects to these servers yet")]
struct McpConnection {
    /// The program to start.
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<BTreeMap<String, String>>,
    env_vars: Option<Vec<Value>>,
    cwd: Option<String>,
    /// The address to connect to instead.
    url: Option<String>,
    bearer_token_env_var: Option<String>,
    http_headers: Option<BTreeMap<String, String>>,
    env_http_headers: Option<BTreeMap<String, String>>,
}

impl IntegrationSettings {
    /// Says what was asked for and is not done.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let servers: Vec<&str> = self
            .mcp_servers
            .iter()
            .filter(|(_, server)| server.enabled != Some(false))
            .map(|(name, _)| name.as_str())
            .collect();
        if !servers.is_empty() {
            warnings.push(format!(
                "mcp_servers ({}): this version does not connect to MCP servers",
                servers.join(", ")
            ));
        }
        if matches!(self.web_search, Some(WebSearch::Cached | WebSearch::Live)) {
            warnings.push("web_search: this version has no web search".to_owned());
        }
        warnings
    }
}
