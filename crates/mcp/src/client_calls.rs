//! Servers used by a person's own client, beside every session. Nobody is asked before a call:
//! who makes it could make it in another program too.

use serde_json::{Map, Value};

use crate::connection::{McpCallError, McpConnection};
use crate::server::McpServerHandle;
use crate::source::McpToolSource;

impl McpToolSource {
    /// Reads a resource of a server. The answer is as the server wrote it.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<Value, String> {
        let server = self.named(server).await?;
        ask(&server, async |connection| connection.read(uri).await).await
    }

    /// Calls a tool of a server. The answer is as the server wrote it.
    pub async fn call_tool(
        &self,
        server: &str,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value, String> {
        let server = self.named(server).await?;
        if !server.config.choice.allows(tool) {
            let name = &server.name;
            return Err(format!(
                "the configuration does not let {tool} of the MCP server {name} be used"
            ));
        }
        ask(&server, async |connection| {
            connection.call_outside(tool, arguments).await
        })
        .await
    }

    async fn named(&self, name: &str) -> Result<McpServerHandle, String> {
        let servers = self.all().await;
        let found = servers.iter().find(|server| *server.name == *name);
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = servers.iter().map(|server| &*server.name).collect();
            format!(
                "no MCP server is called {name:?}; there are: {}",
                names.join(", ")
            )
        })
    }
}

/// Asks a server for as long as a call of it may take.
async fn ask(
    server: &McpServerHandle,
    request: impl AsyncFnOnce(&McpConnection) -> Result<Value, McpCallError>,
) -> Result<Value, String> {
    let name = &server.name;
    let time_max = server.config.tool_time_max;
    let asking = async {
        let connection = server.connect().await.map_err(McpCallError::Gone)?;
        request(&connection).await
    };
    let answered = tokio::time::timeout(time_max, asking).await;
    let answered = answered.unwrap_or(Err(McpCallError::TimedOut(time_max)));
    answered.map_err(|trouble| format!("the MCP server {name} did not answer: {trouble}"))
}
