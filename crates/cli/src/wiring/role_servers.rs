//! The servers of tools that roles may name.

use std::collections::BTreeMap;
use std::sync::Arc;

use troupe_agents::roles::{KnownServer, ServerNames};
use troupe_mcp::{McpServerPool, ServerToolNames};

use crate::settings::IntegrationSettings;
use crate::wiring::PreparedDirectory;

/// What a configuration has, also what is switched off.
#[derive(Debug)]
pub struct ConfiguredNames {
    servers: Vec<KnownServer>,
    backends: Vec<String>,
}

impl ConfiguredNames {
    pub fn of(integrations: &IntegrationSettings) -> Arc<dyn ServerNames> {
        Arc::new(Self {
            servers: joined(configured(integrations)),
            backends: integrations.backends.keys().cloned().collect(),
        })
    }
}

impl ServerNames for ConfiguredNames {
    fn servers(&self) -> Vec<KnownServer> {
        self.servers.clone()
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
    fn servers(&self) -> Vec<KnownServer> {
        let known = self.hub.tool_names();
        let is_known = |name: &str| known.iter().any(|server| server.server == name);
        // What is running knows more than what is written of it.
        let configured: Vec<ServerToolNames> = configured(&self.here.settings.integrations)
            .filter(|server| !is_known(&server.server))
            .collect();
        joined(configured.into_iter().chain(known))
    }

    fn backends(&self) -> Vec<String> {
        let backends = &self.here.settings.integrations.backends;
        backends.keys().cloned().collect()
    }
}

fn configured(integrations: &IntegrationSettings) -> impl Iterator<Item = ServerToolNames> {
    let servers = integrations.mcp_servers.iter();
    servers.map(|(name, config)| ServerToolNames::configured(name, config))
}

/// Sessions in several directories may have servers of one name.
fn joined(servers: impl IntoIterator<Item = ServerToolNames>) -> Vec<KnownServer> {
    let mut by_name: BTreeMap<String, ServerToolNames> = BTreeMap::new();
    for server in servers {
        match by_name.get_mut(&server.server) {
            Some(known) => known.join(server),
            None => {
                by_name.insert(server.server.clone(), server);
            }
        }
    }
    let known = by_name.into_values().map(|server| KnownServer {
        name: server.server,
        tools: server.tools.map(|tools| tools.into_iter().collect()),
    });
    known.collect()
}
