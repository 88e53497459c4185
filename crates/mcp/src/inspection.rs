//! A look at one server, for who configures it.

use std::time::{Duration, Instant};

use crate::server::Server;
use crate::source::Servers;

/// What a try of a server came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    pub server: String,
    pub took: Duration,
    /// The server's own names of the tools that are offered, or why there is no server.
    pub tools: Result<Vec<String>, String>,
    pub has_resources: bool,
}

impl Servers {
    /// Starts each server and says how that went, in the order of their names.
    pub async fn inspect(&self) -> Vec<Inspection> {
        let looks = self.all().iter().map(inspect);
        futures_util::future::join_all(looks).await
    }
}

async fn inspect(server: &Server) -> Inspection {
    let since = Instant::now();
    let connected = server.connect().await;
    let catalogue = server.known().catalogue;
    let tools = catalogue.tools.iter().map(|tool| tool.name.clone());
    let offered = tools.filter(|tool| server.config.choice.allows(tool));
    Inspection {
        server: server.name.to_string(),
        took: since.elapsed(),
        tools: connected.map(|_| offered.collect()),
        has_resources: catalogue.has_resources,
    }
}
