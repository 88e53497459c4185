//! All servers of the program, one for each configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use troupe_process::Launcher;

use crate::config::ServerConfig;
use crate::name::names;
use crate::oauth::McpLoginStore;
use crate::server::McpServerHandle;
use crate::server_set::{McpServerSet, ServerList};

/// What servers are started with.
#[derive(Debug)]
pub struct McpServerPoolDeps {
    pub launcher: Launcher,
    /// The environment of the engine. Servers get little of it.
    pub environment: BTreeMap<String, String>,
    /// Where servers are started whose configuration does not say it. It is that of the program
    /// and not of a session, so that sessions in several directories share a server.
    pub cwd: PathBuf,
    /// Where the logins at servers are kept; without it nobody is logged in anywhere.
    pub logins: Option<McpLoginStore>,
}

/// Owns the servers. They end with it.
#[derive(Debug)]
pub struct McpServerPool {
    deps: Arc<McpServerPoolDeps>,
    servers: Mutex<Vec<McpServerHandle>>,
    rosters: Mutex<Vec<Weak<McpServerSet>>>,
}

impl McpServerPool {
    pub fn new(deps: McpServerPoolDeps) -> Self {
        Self {
            deps: Arc::new(deps),
            servers: Mutex::default(),
            rosters: Mutex::default(),
        }
    }

    /// Returns the servers of a configuration, which is read again from `list` when a session
    /// asks for that. Nothing is started yet. It must be called in a tokio runtime.
    pub fn roster(
        self: &Arc<Self>,
        configs: &BTreeMap<String, ServerConfig>,
        list: Arc<dyn ServerList>,
    ) -> Arc<McpServerSet> {
        let roster = McpServerSet::new(Arc::clone(self), self.find(configs), list);
        let roster = Arc::new(roster);
        let mut rosters = self.rosters.lock().unwrap_or_else(PoisonError::into_inner);
        rosters.retain(|roster| roster.strong_count() > 0);
        rosters.push(Arc::downgrade(&roster));
        roster
    }

    /// Returns a server for each configuration that is enabled: the one there is, or a new one.
    pub(crate) fn find(&self, configs: &BTreeMap<String, ServerConfig>) -> Arc<[McpServerHandle]> {
        let used = configs.iter().filter(|(_, config)| config.enabled);
        used.map(|(name, config)| self.server(name, config))
            .collect()
    }

    /// Returns the names of the servers that some session could use.
    pub fn server_names(&self) -> Vec<String> {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let name = |server: &McpServerHandle| server.name.to_string();
        servers.iter().map(name).collect()
    }

    /// Returns the names by which models call the tools of a server; `None` as long as they are
    /// not known, because it was not started yet, or if there is no such server.
    pub fn tool_names(&self, server: &str) -> Option<Vec<String>> {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tools: BTreeSet<(String, String)> = BTreeSet::new();
        let mut is_there = false;
        // Sessions can have servers of one name with other configurations. How a tool is called
        // depends on those of other servers.
        for other in servers.iter() {
            let is_it = *other.name == *server;
            is_there |= is_it;
            match other.tools() {
                None if is_it => return None,
                None => {}
                Some(names) => {
                    tools.extend(names.into_iter().map(|tool| (other.name.to_string(), tool)));
                }
            }
        }
        let pairs: Vec<(&str, &str)> = tools
            .iter()
            .map(|(server, tool)| (server.as_str(), tool.as_str()))
            .collect();
        let named = names(&pairs).into_iter().zip(&pairs);
        let of_it = named.filter(|(_, (of, _))| *of == server);
        is_there.then(|| of_it.map(|(name, _)| name).collect())
    }

    /// Ends the servers that no configuration has any more.
    pub(crate) fn end_unused(&self) {
        let rosters: Vec<Arc<McpServerSet>> = {
            let rosters = self.rosters.lock().unwrap_or_else(PoisonError::into_inner);
            rosters.iter().filter_map(Weak::upgrade).collect()
        };
        let used: Vec<McpServerHandle> = rosters
            .iter()
            .flat_map(|roster| roster.known().servers.to_vec())
            .collect();
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        servers.retain(|server| {
            let is_used = used.iter().any(|other| other.is_same(server));
            if !is_used {
                server.end();
            }
            is_used
        });
    }

    fn server(&self, name: &str, config: &ServerConfig) -> McpServerHandle {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |server: &&McpServerHandle| *server.name == *name && *server.config == *config;
        if let Some(server) = servers.iter().find(is_it) {
            return server.clone();
        }
        let server = McpServerHandle::new(name, config.clone(), Arc::clone(&self.deps));
        servers.push(server.clone());
        server
    }
}
