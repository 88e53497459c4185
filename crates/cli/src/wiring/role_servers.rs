//! The servers of tools that roles may name.

use std::collections::BTreeMap;
use std::sync::Arc;

use troupe_agents::roles::ServerNames;
use troupe_mcp::{Hub, ServerConfig};

use crate::wiring::Prepared;

/// The servers of a configuration, also those that are switched off.
#[derive(Debug)]
pub struct ConfiguredNames(Vec<String>);

impl ConfiguredNames {
    pub fn of(servers: &BTreeMap<String, ServerConfig>) -> Arc<dyn ServerNames> {
        Arc::new(Self(servers.keys().cloned().collect()))
    }
}

impl ServerNames for ConfiguredNames {
    fn servers(&self) -> Vec<String> {
        self.0.clone()
    }
}

/// The servers of the program's directory and of every session that it has open: these may
/// have a configuration of their own, and lists of servers are read again while it runs.
#[derive(Debug)]
pub(super) struct SessionServers {
    pub here: Arc<Prepared>,
    pub hub: Arc<Hub>,
}

impl ServerNames for SessionServers {
    fn servers(&self) -> Vec<String> {
        let configured = self.here.settings.integrations.mcp_servers.keys().cloned();
        let mut names: Vec<String> = configured.chain(self.hub.server_names()).collect();
        names.sort();
        names.dedup();
        names
    }
}
