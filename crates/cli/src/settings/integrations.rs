//! What is brought in from outside: servers of the Model Context Protocol, and programs that
//! are agents themselves. Besides, keys of
//! the Codex family that this version does not act upon: setting them is answered by a warning,
//! never by silence.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_acp::backend::BackendConfig;
use troupe_mcp::ServerConfig;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct IntegrationSettings {
    /// Servers of the Model Context Protocol, by name.
    #[serde(default)]
    pub mcp_servers: BTreeMap<String, ServerConfig>,
    /// Other agents that can be children, by name.
    #[serde(default)]
    pub backends: BTreeMap<String, BackendConfig>,
    /// Taken for the sake of shared files: there is no web search here.
    pub web_search: Option<WebSearch>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WebSearch {
    Disabled,
    Cached,
    Live,
}

impl IntegrationSettings {
    /// Says what was asked for and is not done.
    pub fn warnings(&self) -> Vec<String> {
        match self.web_search {
            Some(WebSearch::Cached | WebSearch::Live) => {
                vec!["web_search: this version has no web search".to_owned()]
            }
            Some(WebSearch::Disabled) | None => Vec::new(),
        }
    }
}
