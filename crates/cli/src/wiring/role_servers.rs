//! The servers of tools that roles may name.

use std::collections::BTreeMap;
use std::sync::Arc;

use troupe_agents::roles::ServerNames;
use troupe_mcp::{McpServerPool, ServerConfig};

use crate::settings::IntegrationSettings;
use crate::wiring::PreparedDirectory;

/// What a configuration has, also what is switched off.
#[derive(Debug)]
pub struct ConfiguredNames {
    servers: BTreeMap<String, ServerConfig>,
    backends: Vec<String>,
}

impl ConfiguredNames {
    pub fn of(integrations: &IntegrationSettings) -> Arc<dyn ServerNames> {
        Arc::new(Self {
            servers: integrations.mcp_servers.clone(),
            backends: integrations.backends.keys().cloned().collect(),
        })
    }
}

impl ServerNames for ConfiguredNames {
    fn servers(&self) -> Vec<String> {
        self.servers.keys().cloned().collect()
    }

    fn tools(&self, server: &str) -> Option<Vec<String>> {
        self.servers.get(server)?.tool_names(server)
    }

    fn backends(&self) -> Vec<String> {
        self.backends.clone()
    }
}

/// The servers of the program's directory and of every session that it has open: these may
/// have a configuration of their own, and lists of servers are read again while it runs.
#[derive(Debug)]
pub(super) struct SessionServers {
    pub here: Arc<PreparedDirectory>,
    pub hub: Arc<McpServerPool>,
}

impl ServerNames for SessionServers {
    fn servers(&self) -> Vec<String> {
        let configured = self.here.settings.integrations.mcp_servers.keys().cloned();
        let mut names: Vec<String> = configured.chain(self.hub.server_names()).collect();
        names.sort();
        names.dedup();
        names
    }

    fn tools(&self, server: &str) -> Option<Vec<String>> {
        let configured = || {
            let servers = &self.here.settings.integrations.mcp_servers;
            servers.get(server)?.tool_names(server)
        };
        self.hub.tool_names(server).or_else(configured)
    }

    fn backends(&self) -> Vec<String> {
        let backends = &self.here.settings.integrations.backends;
        backends.keys().cloned().collect()
    }
}
