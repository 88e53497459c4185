//! Tools that clients bring and run themselves.
//!
//! ```text
//!  model ─call─► DeskTool ─► ToolDesk ─► every DeskFollower ─► its client
//!                   ▲                        │
//!                   └── the first reply ◄────┘
//! ```
//!
//! A call waits at the desk of its session until a client answers, nobody is left who could, or
//! its task is stopped. Agents below the session do not have these tools: a client that brought
//! them for one thread is not asked to work for others.

mod call_queue;
mod reply;
mod tool;

use std::sync::Arc;

use async_trait::async_trait;
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::tool::{BACKEND_TOOL, DynamicTool};
use troupe_tools::Registry;

use crate::deps::{ConfigureError, SessionConfigurator, SessionSetup, SetupNotice};
pub use call_queue::{ClientCallQueue, ClientCallSubscriber, ClientToolCall};
pub use reply::{ClientToolReply, ReplyPart};
use tool::ClientTool;

/// Names that tools of MCP servers have or may get.
const SERVER_NAME_PREFIX: &str = "mcp__";
const SERVER_NAMES: [&str; 3] = [
    "list_mcp_resources",
    "list_mcp_resource_templates",
    "read_mcp_resource",
];

/// Where the tools of a session are known from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DynamicTools {
    /// Just now from a client. One that cannot be offered refuses the session.
    Brought(Vec<DynamicTool>),
    /// From the session's log. One that cannot be offered any more is left out, with a warning.
    Kept(Vec<DynamicTool>),
}

/// Adds a client's tools to what another configures.
#[derive(Debug)]
pub struct ClientToolConfigurator {
    pub inner: Arc<dyn SessionConfigurator>,
    pub tools: DynamicTools,
    pub desk: Arc<ClientCallQueue>,
}

#[async_trait]
impl SessionConfigurator for ClientToolConfigurator {
    async fn configure(&self, request: &ConfigureSession) -> Result<SessionSetup, ConfigureError> {
        let mut setup = self.inner.configure(request).await?;
        let (tools, is_kept) = match &self.tools {
            DynamicTools::Brought(tools) => (tools, false),
            DynamicTools::Kept(tools) => (tools, true),
        };
        for tool in tools {
            match refusal(&setup.tools, &tool.offered_name()) {
                None => {
                    let tool = ClientTool::new(tool, Arc::clone(&self.desk));
                    setup.tools.add(Arc::new(tool));
                }
                Some(why) if is_kept => {
                    let warning = format!("{why}; the tool is left out");
                    setup.notices.push(SetupNotice::Warning(warning));
                }
                Some(why) => return Err(ConfigureError::refused(why)),
            }
        }
        // Also what is left out now: another time it may be offered again.
        setup.dynamic_tools.clone_from(tools);
        Ok(setup)
    }
}

/// Returns why a tool cannot be offered beside these.
fn refusal(tools: &Registry, name: &str) -> Option<String> {
    if tools.find(BACKEND_TOOL).is_some() {
        return Some(format!(
            "the dynamic tool {name:?} cannot be offered to a program that is run in the place of \
             a model: it has tools of its own"
        ));
    }
    if name.starts_with(SERVER_NAME_PREFIX) || SERVER_NAMES.contains(&name) {
        return Some(format!(
            "the dynamic tool {name:?} has a name that belongs to MCP servers; give it another"
        ));
    }
    tools.find(name).map(|_| {
        format!("the dynamic tool {name:?} has the name of another tool; give it another name")
    })
}
