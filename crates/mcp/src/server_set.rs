//! Which servers there are by a configuration, and how that is read again.
//!
//! ```text
//!   refresh ──► asked for anew ──gather, by any session──► read ──► servers that are new
//!                                                               └─► those that are gone end
//! ```
//!
//! All sessions of one configuration share a roster, so that what one of them asks for anew all
//! of them have with their next request.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::ServerConfig;
use crate::server::McpServerHandle;
use crate::server_pool::McpServerPool;
use crate::source::McpToolSource;

/// Where it is written which servers there are.
pub trait ServerList: Send + Sync + Debug {
    /// Reads it, or says what is wrong with it. Blocks on the file system.
    fn read(&self) -> Result<BTreeMap<String, ServerConfig>, String>;
}

/// The servers of one configuration.
#[derive(Debug)]
pub struct McpServerSet {
    hub: Arc<McpServerPool>,
    list: Arc<dyn ServerList>,
    state: Mutex<McpServerSetState>,
}

#[derive(Debug)]
struct McpServerSetState {
    servers: Arc<[McpServerHandle]>,
    /// Which list this is; 0 is one that never had a server.
    edition: u32,
    /// The list is to be read before it is used.
    is_stale: bool,
}

/// The servers, and which list they are.
#[derive(Debug, Clone)]
pub(crate) struct ServerEdition {
    pub servers: Arc<[McpServerHandle]>,
    pub number: u32,
}

impl McpServerSet {
    pub(crate) fn new(
        hub: Arc<McpServerPool>,
        servers: Arc<[McpServerHandle]>,
        list: Arc<dyn ServerList>,
    ) -> Self {
        let edition = u32::from(!servers.is_empty());
        let state = McpServerSetState {
            servers,
            edition,
            is_stale: false,
        };
        Self {
            hub,
            list,
            state: Mutex::new(state),
        }
    }

    /// Returns the servers as a source of one session's tools. Nothing is started yet.
    pub fn servers(self: &Arc<Self>) -> McpToolSource {
        McpToolSource::new(Arc::clone(self))
    }

    /// Returns what is known, whether or not it is to be read again.
    pub(crate) fn known(&self) -> ServerEdition {
        let state = self.lock();
        ServerEdition {
            servers: Arc::clone(&state.servers),
            number: state.edition,
        }
    }

    /// Has the list be read again by who needs it next, and all servers be asked anew.
    pub(crate) fn refresh(&self) {
        let servers = {
            let mut state = self.lock();
            state.is_stale = true;
            state.edition += 1;
            Arc::clone(&state.servers)
        };
        for server in &*servers {
            server.refresh();
        }
    }

    /// Returns the servers, read anew if that was asked for. If they cannot be, those that are
    /// known stay, and the second value says why.
    pub(crate) async fn current(&self) -> (ServerEdition, Option<String>) {
        let asked_at = {
            let state = self.lock();
            state.is_stale.then_some(state.edition)
        };
        let Some(asked_at) = asked_at else {
            return (self.known(), None);
        };
        let list = Arc::clone(&self.list);
        let read = tokio::task::spawn_blocking(move || list.read()).await;
        let trouble = match read {
            Ok(Ok(configs)) => {
                self.replace(asked_at, &configs);
                None
            }
            Ok(Err(problem)) => Some(problem),
            Err(_) => Some("the engine is ending".to_owned()),
        };
        (self.known(), trouble)
    }

    fn replace(&self, asked_at: u32, configs: &BTreeMap<String, ServerConfig>) {
        let servers = self.hub.find(configs);
        {
            let mut state = self.lock();
            state.servers = servers;
            // What was asked for while it was read is still to be done.
            state.is_stale &= state.edition != asked_at;
            // Who looked while it was read has the old list under the number before.
            state.edition += 1;
        }
        self.hub.end_unused();
    }

    fn lock(&self) -> MutexGuard<'_, McpServerSetState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
