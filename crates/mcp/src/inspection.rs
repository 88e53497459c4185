//! A look at one server, for who configures it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::config::ServerConfig;
use crate::server::McpServerHandle;
use crate::server_pool::McpServerPool;

/// What a try of a server came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInspection {
    pub server: String,
    pub took: Duration,
    /// The server's own names of the tools that are offered, or why there is no server.
    pub tools: Result<Vec<String>, String>,
    pub has_resources: bool,
}

impl McpServerPool {
    /// Starts each server and says how that went, in the order of their names.
    pub async fn inspect(&self, configs: &BTreeMap<String, ServerConfig>) -> Vec<ServerInspection> {
        let servers = self.find(configs);
        let looks = servers.iter().map(inspect);
        futures_util::future::join_all(looks).await
    }
}

async fn inspect(server: &McpServerHandle) -> ServerInspection {
    let since = Instant::now();
    let connected = server.connect().await;
    let catalogue = server.known().catalogue;
    let tools = catalogue.tools.iter().map(|tool| tool.name.clone());
    let offered = tools.filter(|tool| server.config.choice.allows(tool));
    ServerInspection {
        server: server.name.to_string(),
        took: since.elapsed(),
        tools: connected.map(|_| offered.collect()),
        has_resources: catalogue.has_resources,
    }
}
