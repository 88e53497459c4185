//! All servers of the program, one for each configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use troupe_process::Launcher;

use crate::config::ServerConfig;
use crate::server::Server;
use crate::source::Servers;

/// What servers are started with.
#[derive(Debug)]
pub struct HubDeps {
    pub launcher: Launcher,
    /// The environment of the engine. Servers get little of it.
    pub environment: BTreeMap<String, String>,
    /// Where servers are started whose configuration does not say it. It is that of the program
    /// and not of a session, so that sessions in several directories share a server.
    pub cwd: PathBuf,
}

/// Owns the servers. They end with it.
#[derive(Debug)]
pub struct Hub {
    deps: Arc<HubDeps>,
    servers: Mutex<Vec<Server>>,
}

impl Hub {
    pub fn new(deps: HubDeps) -> Self {
        Self {
            deps: Arc::new(deps),
            servers: Mutex::default(),
        }
    }

    /// Returns the servers of a session, by their configuration. Nothing is started yet. It must
    /// be called in a tokio runtime.
    pub fn servers(&self, configs: &BTreeMap<String, ServerConfig>) -> Servers {
        let used = configs.iter().filter(|(_, config)| config.enabled);
        let servers = used.map(|(name, config)| self.server(name, config));
        Servers::new(servers.collect())
    }

    fn server(&self, name: &str, config: &ServerConfig) -> Server {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |server: &&Server| *server.name == *name && *server.config == *config;
        if let Some(server) = servers.iter().find(is_it) {
            return server.clone();
        }
        let server = Server::new(name, config.clone(), Arc::clone(&self.deps));
        servers.push(server.clone());
        server
    }
}
