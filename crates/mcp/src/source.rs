//! The servers of one session: where its further tools come from.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::join_all;
use serde_json::Value;
use troupe_protocol::EventMsg;
use troupe_protocol::event::{McpStartupFailure, McpStartupStatus};
use troupe_protocol::mcp::{McpAuthStatus, McpOffer, McpTool};
use troupe_tools::rules::{RuleBook, RuleSource};
use troupe_tools::{GatherListener, GatheredTools, SourceRevision, Tool, ToolSource};

use crate::config::ServerEndpoint;
use crate::connection::{ResourceListKind, ServerCatalogue, ToolInfo};
use crate::limits::{PAGES_MAX, TOOLS_MAX};
use crate::name::names;
use crate::resources;
use crate::server::McpServerHandle;
use crate::server_set::{McpServerSet, ServerEdition};
use crate::tool::{ServerTool, ToolAgreements};

/// The servers of a set. What a person agrees to for the session is remembered here.
#[derive(Debug, Clone)]
pub struct McpToolSource {
    roster: Arc<McpServerSet>,
    /// The names of those that the session may use; all if absent.
    only: Option<Arc<[String]>>,
    agreements: Arc<ToolAgreements>,
    rules: Arc<RuleBook>,
}

/// How the start of a server went.
#[derive(Debug)]
struct ServerStart<'a> {
    server: &'a McpServerHandle,
    outcome: Result<Arc<ServerCatalogue>, String>,
    /// It did not run before.
    is_new: bool,
    revision: u64,
}

impl McpToolSource {
    pub(crate) fn new(roster: Arc<McpServerSet>) -> Self {
        Self {
            roster,
            only: None,
            agreements: Arc::default(),
            rules: Arc::new(RuleBook::new(RuleSource::default())),
        }
    }

    /// Holds the session's calls to these rules.
    #[must_use]
    pub fn with_rules(self, rules: RuleSource) -> Self {
        Self {
            rules: Arc::new(RuleBook::new(rules)),
            ..self
        }
    }

    /// Returns all servers of the list as it is now.
    pub(crate) async fn all(&self) -> Vec<McpServerHandle> {
        let (edition, _) = self.roster.current().await;
        self.chosen(&edition)
    }

    /// Returns the servers that the session may use.
    fn chosen(&self, edition: &ServerEdition) -> Vec<McpServerHandle> {
        let may_use = |server: &&McpServerHandle| {
            let only = self.only.as_ref();
            only.is_none_or(|names| names.iter().any(|name| **name == *server.name))
        };
        edition.servers.iter().filter(may_use).cloned().collect()
    }

    fn tools(&self, starts: &[ServerStart<'_>]) -> Vec<Arc<dyn Tool>> {
        let offered = offered(starts);
        let pairs: Vec<(&str, &str)> = offered
            .iter()
            .map(|(server, tool)| (&*server.name, tool.name.as_str()))
            .collect();
        let named = names(&pairs).into_iter().zip(offered);
        let tools = named.map(|(name, (server, tool))| {
            let agreements = Arc::clone(&self.agreements);
            let rules = Arc::clone(&self.rules);
            let tool = ServerTool::new(name, server.clone(), tool, agreements, rules);
            Arc::new(tool) as Arc<dyn Tool>
        });
        let mut tools: Vec<Arc<dyn Tool>> = tools.collect();
        let with_resources = starts.iter().filter(|start| {
            let outcome = start.outcome.as_ref();
            outcome.is_ok_and(|catalogue| catalogue.has_resources)
        });
        let with_resources: Vec<McpServerHandle> =
            with_resources.map(|start| start.server.clone()).collect();
        if !with_resources.is_empty() {
            tools.extend(resources::tools(with_resources));
        }
        tools
    }
}

/// Starts all servers side by side, and waits for each as long as it may take.
async fn start_all<'a>(
    servers: &'a [McpServerHandle],
    listener: &dyn GatherListener,
) -> Vec<ServerStart<'a>> {
    join_all(servers.iter().map(|server| start(server, listener))).await
}

/// Makes one number of the list of servers and of what they are known to have.
fn revision(edition: &ServerEdition, servers: impl Iterator<Item = u64>) -> SourceRevision {
    let sum = servers.fold(0_u64, u64::wrapping_add);
    SourceRevision(u64::from(edition.number) << 32 | sum & u64::from(u32::MAX))
}

/// Starts one server, unless it runs, and tells what there is to tell.
async fn start<'a>(server: &'a McpServerHandle, listener: &dyn GatherListener) -> ServerStart<'a> {
    let is_new = !server.known().was_open;
    let refreshes = server.refreshes();
    if is_new {
        tell(listener, server, McpStartupStatus::Starting).await;
    }
    let connected = server.connect().await;
    // Together, so that a change after this moment is noticed.
    let known = server.known();
    let outcome = connected.map(|_| known.catalogue);
    if is_new || outcome.is_err() {
        let status = match &outcome {
            Ok(_) => McpStartupStatus::Ready,
            Err(error) => McpStartupStatus::Failed {
                error: error.clone(),
            },
        };
        tell(listener, server, status).await;
    }
    ServerStart {
        server,
        outcome,
        is_new,
        revision: known.revision + refreshes,
    }
}

/// Returns the tools that the configuration lets through.
fn offered<'a>(starts: &'a [ServerStart<'_>]) -> Vec<(&'a McpServerHandle, &'a ToolInfo)> {
    let ready = starts.iter().filter_map(|start| {
        let catalogue = start.outcome.as_ref().ok()?;
        Some((start.server, catalogue))
    });
    let mut offered = Vec::new();
    for (server, catalogue) in ready {
        let mut seen = BTreeSet::new();
        let tools = catalogue.tools.iter();
        let tools = tools.filter(|tool| server.config.choice.allows(&tool.name));
        // A server that offers a name twice means one tool.
        let tools = tools.filter(|tool| seen.insert(tool.name.as_str()));
        offered.extend(tools.map(|tool| (server, tool)));
    }
    offered
}

async fn tell(listener: &dyn GatherListener, server: &McpServerHandle, status: McpStartupStatus) {
    let server = server.name.to_string();
    let update = EventMsg::McpStartupUpdate { server, status };
    listener.tell(update).await;
}

async fn warn(listener: &dyn GatherListener, message: String) {
    listener.tell(EventMsg::Warning { message }).await;
}

/// Tells how all starts went, if there is something to tell.
async fn tell_complete(listener: &dyn GatherListener, starts: &[ServerStart<'_>]) {
    let failed = starts.iter().filter_map(|start| {
        let error = start.outcome.as_ref().err()?;
        Some(McpStartupFailure {
            server: start.server.name.to_string(),
            error: error.clone(),
        })
    });
    let failed: Vec<McpStartupFailure> = failed.collect();
    if failed.is_empty() && !starts.iter().any(|start| start.is_new) {
        return;
    }
    for failure in &failed {
        let McpStartupFailure { server, error } = failure;
        let message = format!("MCP server {server} did not start; its tools are missing: {error}");
        warn(listener, message).await;
    }
    let is_cut = |start: &&ServerStart<'_>| {
        let outcome = start.outcome.as_ref();
        start.is_new && outcome.is_ok_and(|catalogue| catalogue.is_cut)
    };
    for start in starts.iter().filter(is_cut) {
        let name = &start.server.name;
        let message = format!(
            "the MCP server {name} has more tools than the first {TOOLS_MAX}, which are offered; \
             choose with mcp_servers.{name}.enabled_tools"
        );
        warn(listener, message).await;
    }
    let ready = starts.iter().filter(|start| start.outcome.is_ok());
    let ready = ready.map(|start| start.server.name.to_string()).collect();
    let complete = EventMsg::McpStartupComplete {
        ready,
        failed,
        cancelled: Vec::new(),
    };
    listener.tell(complete).await;
}

/// Returns why a session cannot go on.
fn failure(starts: &[ServerStart<'_>]) -> Option<String> {
    starts.iter().find_map(|start| {
        let error = start.outcome.as_ref().err()?;
        let name = &start.server.name;
        start
            .server
            .config
            .required
            .then(|| format!("MCP server {name}, which is required, did not start: {error}"))
    })
}

#[async_trait]
impl ToolSource for McpToolSource {
    fn revision(&self) -> SourceRevision {
        let edition = self.roster.known();
        let servers = self.chosen(&edition).into_iter();
        let revisions = servers.map(|server| server.known().revision + server.refreshes());
        revision(&edition, revisions)
    }

    async fn gather(&self, listener: Arc<dyn GatherListener>) -> GatheredTools {
        let (edition, trouble) = self.roster.current().await;
        if let Some(trouble) = trouble {
            let message = format!(
                "mcp_servers cannot be read again, the servers stay as they were: {trouble}"
            );
            warn(&*listener, message).await;
        }
        let servers = self.chosen(&edition);
        let starts = start_all(&servers, &*listener).await;
        tell_complete(&*listener, &starts).await;
        GatheredTools {
            revision: revision(&edition, starts.iter().map(|start| start.revision)),
            tools: self.tools(&starts),
            failure: failure(&starts),
        }
    }

    async fn offer(&self) -> McpOffer {
        // Why a list cannot be read is told to the next task, which tries it again.
        let (edition, _) = self.roster.current().await;
        let servers = self.chosen(&edition);
        let starts = start_all(&servers, &NullListener).await;
        let mut offer = McpOffer::default();
        let offered = offered(&starts);
        let pairs: Vec<(&str, &str)> = offered
            .iter()
            .map(|(server, tool)| (&*server.name, tool.name.as_str()))
            .collect();
        for (name, (server, tool)) in names(&pairs).into_iter().zip(offered) {
            offer.tools.insert(name, described(server, tool));
        }
        for start in &starts {
            let name = start.server.name.to_string();
            let status = auth_status(start);
            offer.auth_statuses.insert(name.clone(), status);
            match &start.outcome {
                Err(error) => {
                    offer.failures.insert(name, error.clone());
                }
                Ok(catalogue) if catalogue.has_resources => {
                    let resources = all_pages(start.server, ResourceListKind::Resources).await;
                    let templates = all_pages(start.server, ResourceListKind::Templates).await;
                    offer.resources.insert(name.clone(), resources);
                    offer.resource_templates.insert(name, templates);
                }
                Ok(_) => (),
            }
        }
        offer
    }

    fn refresh(&self) {
        self.roster.refresh();
    }

    fn only(&self, servers: &[String]) -> Arc<dyn ToolSource> {
        let may_use = |name: &&String| {
            let only = self.only.as_ref();
            only.is_none_or(|names| names.contains(name))
        };
        Arc::new(Self {
            roster: Arc::clone(&self.roster),
            only: Some(servers.iter().filter(may_use).cloned().collect()),
            agreements: Arc::clone(&self.agreements),
            rules: Arc::clone(&self.rules),
        })
    }
}

/// Hears of starts that no session waits for.
#[derive(Debug)]
struct NullListener;

#[async_trait]
impl GatherListener for NullListener {
    async fn tell(&self, _: EventMsg) {}
}

fn described(server: &McpServerHandle, tool: &ToolInfo) -> McpTool {
    McpTool {
        server: server.name.to_string(),
        name: tool.name.clone(),
        title: tool.title.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
        annotations: tool.annotations.clone(),
    }
}

fn auth_status(start: &ServerStart<'_>) -> McpAuthStatus {
    match &start.server.config.door {
        ServerEndpoint::Http {
            bearer_token_env_var: Some(_),
            ..
        } => McpAuthStatus::BearerToken,
        ServerEndpoint::Http { .. } => start.server.login_status(),
        ServerEndpoint::Stdio { .. } => McpAuthStatus::Unsupported,
    }
}

/// Returns all pages of a list. One that cannot be had is the end of it.
async fn all_pages(server: &McpServerHandle, what: ResourceListKind) -> Vec<Value> {
    let key = match what {
        ResourceListKind::Resources => "resources",
        ResourceListKind::Templates => "resourceTemplates",
    };
    let mut all = Vec::new();
    let mut cursor = None;
    for _ in 0..PAGES_MAX {
        let Ok(connection) = server.connect().await else {
            break;
        };
        let listing = connection.list(what, cursor.take());
        let time_max = server.config.tool_time_max;
        let Ok(Ok(mut page)) = tokio::time::timeout(time_max, listing).await else {
            break;
        };
        if let Some(Value::Array(entries)) = page.get_mut(key).map(Value::take) {
            all.extend(entries);
        }
        cursor = page
            .get("nextCursor")
            .and_then(Value::as_str)
            .map(ToOwned::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    all
}
