//! One connection to a server, from its greeting to its end.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequestParams,
    PaginatedRequestParams, Prompt, ReadResourceRequestParams, ServerResult, Tool,
};
use rmcp::serve_client;
use rmcp::service::{
    ClientInitializeError, PeerRequestOptions, RequestHandle, RoleClient, RunningService,
    ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::AuthClient;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};
use troupe_process::{CommandSpec, Confinement, StdinMode};
use troupe_protocol::EventMsg;
use troupe_protocol::discard;
use troupe_tools::{ToolEvent, ToolInvocation};

use crate::approval::ToolHints;
use crate::client::McpClient;
use crate::config::{ServerConfig, ServerEndpoint};
use crate::environment::environment;
use crate::limits::{PAGES_MAX, PROGRESS_EVENTS_MAX, PROMPTS_MAX, TOOLS_MAX};
use crate::server_pool::McpServerPoolDeps;
use crate::stdio::{ServerExitReason, StdioTransport};
use crate::streamable::{self, HttpTarget};
use crate::{oauth, plain};

/// An open connection. Dropping it ends the server's process.
#[derive(Debug)]
pub(crate) struct McpConnection {
    running: RunningService<RoleClient, McpClient>,
    /// Of a process of ours.
    obituary: Option<ServerExitReason>,
    /// What to say when the server no longer takes who we are.
    unauthorized: Option<String>,
}

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolInfo {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub input_schema: Value,
    pub annotations: Option<Value>,
    pub hints: ToolHints,
}

/// What a server offers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ServerCatalogue {
    pub tools: Vec<ToolInfo>,
    pub has_resources: bool,
    /// The server has more tools than are taken.
    pub is_cut: bool,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum McpCallError {
    /// The connection ended.
    #[error("{0}")]
    Gone(String),
    /// The server answered with an error.
    #[error("{0}")]
    Refused(String),
    #[error("no answer came within {:.1} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("the call was cancelled")]
    Cancelled,
    /// It was stopped before the server heard of it.
    #[error("aborted before it was run")]
    NeverRun,
}

/// A list that comes in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResourceListKind {
    Resources,
    Templates,
}

impl McpConnection {
    /// Opens a connection, or says what is in the way.
    pub(crate) async fn open(
        name: &str,
        config: &ServerConfig,
        deps: &McpServerPoolDeps,
        changed: Arc<Notify>,
    ) -> Result<Self, String> {
        let client = McpClient::new(name, changed);
        match &config.door {
            ServerEndpoint::Stdio { .. } => {
                let spec = command(&config.door, deps)?;
                let process = deps.launcher.spawn(spec).await;
                let process = process.map_err(|error| plain::chain(&error))?;
                let (transport, obituary) = StdioTransport::new(process);
                match serve_client(client, transport).await {
                    Ok(running) => Ok(Self {
                        running,
                        obituary: Some(obituary),
                        unauthorized: None,
                    }),
                    Err(
                        error @ (ClientInitializeError::TransportError { .. }
                        | ClientInitializeError::ConnectionClosed(_)),
                    ) => Err(obituary
                        .read()
                        .await
                        .unwrap_or_else(|| plain::opening(&error))),
                    Err(error) => Err(plain::opening(&error)),
                }
            }
            ServerEndpoint::Http {
                url,
                bearer_token_env_var,
                http_headers,
                env_http_headers,
            } => {
                let address = HttpTarget {
                    url,
                    bearer_token_env_var: bearer_token_env_var.as_deref(),
                    http_headers,
                    env_http_headers,
                };
                // Boxed, because a login is large and most servers have none.
                Box::pin(Self::open_http(name, client, &address, deps)).await
            }
        }
    }

    async fn open_http(
        name: &str,
        client: McpClient,
        address: &HttpTarget<'_>,
        deps: &McpServerPoolDeps,
    ) -> Result<Self, String> {
        let (http, config) = streamable::parts(address, &deps.environment)?;
        let logins = deps
            .logins
            .as_ref()
            .filter(|_| !address.has_own_authorization());
        let login = match logins.map(|logins| logins.login(name, address.url)) {
            Some(login) => oauth::authorized(login, address.url).await,
            None => Ok(None),
        };
        let login = login
            .map_err(|error| format!("the login at it cannot be used: {}", oauth::shown(&error)))?;
        let unauthorized = unauthorized(name, address, login.is_some());
        let opened = if let Some(manager) = login {
            let http = AuthClient::new(http, manager);
            let transport = StreamableHttpClientTransport::with_client(http, config);
            serve_client(client, transport).await
        } else {
            let transport = StreamableHttpClientTransport::with_client(http, config);
            serve_client(client, transport).await
        };
        let running = opened.map_err(|error| {
            if error.is_authorization_required() {
                return unauthorized.clone();
            }
            plain::opening(&error)
        })?;
        Ok(Self {
            running,
            obituary: None,
            unauthorized: Some(unauthorized),
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.running.is_transport_closed()
    }

    /// Asks for everything that the server offers.
    pub(crate) async fn catalogue(&self) -> Result<ServerCatalogue, McpCallError> {
        let info = self.running.peer_info();
        let capabilities = info.map(|info| info.capabilities.clone());
        let capabilities = capabilities.unwrap_or_default();
        let mut catalogue = ServerCatalogue {
            has_resources: capabilities.resources.is_some(),
            ..ServerCatalogue::default()
        };
        if capabilities.tools.is_none() {
            return Ok(catalogue);
        }
        let mut cursor = None;
        for _ in 0..PAGES_MAX {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let listed = self.running.list_tools(Some(page)).await;
            let page = self.checked_answer(listed).await?;
            catalogue
                .tools
                .extend(page.tools.into_iter().map(tool_info));
            cursor = page.next_cursor;
            if cursor.is_none() || catalogue.tools.len() >= TOOLS_MAX {
                break;
            }
        }
        catalogue.is_cut = cursor.is_some() || catalogue.tools.len() > TOOLS_MAX;
        catalogue.tools.truncate(TOOLS_MAX);
        Ok(catalogue)
    }

    /// Runs a call to its end. Who stops waiting is said so to the server.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        call: &ToolInvocation,
        time_max: Duration,
    ) -> Result<Value, McpCallError> {
        let client = self.running.service();
        let entry = client.calls.enter(call);
        // Before the request is sent, so that no step is missed.
        let mut steps = client.progress.subscribe();
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = Some(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let sent = self.running.send_request_with_option(request, options);
        let mut handle = self.checked_answer(sent.await).await?;
        entry.is_request(&handle.id);
        let mut deadline = Instant::now() + time_max;
        let mut told = 0;
        loop {
            tokio::select! {
                biased;
                step = steps.recv(), if told < PROGRESS_EVENTS_MAX => match step {
                    Ok(step) if step.progress_token == handle.progress_token => {
                        told += 1;
                        let event = EventMsg::McpToolCallProgress {
                            call_id: call.id.clone(),
                            progress: step.progress,
                            total: step.total,
                            message: step.message,
                        };
                        call.channel.report(ToolEvent::Other(Box::new(event))).await;
                    }
                    Ok(_) | Err(RecvError::Lagged(_)) => (),
                    Err(RecvError::Closed) => told = PROGRESS_EVENTS_MAX,
                },
                answer = &mut handle.rx => {
                    let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
                    return result(self.checked_answer(answer).await?);
                }
                () = call.cancel.cancelled() => {
                    withdraw(handle, "the user interrupted the call").await;
                    return Err(McpCallError::Cancelled);
                }
                () = sleep_until(deadline) => {
                    // The server waits for a person, not the person for the server.
                    if entry.is_asking() {
                        deadline = Instant::now() + time_max;
                        continue;
                    }
                    withdraw(handle, "the call took too long").await;
                    return Err(McpCallError::TimedOut(time_max));
                }
            }
        }
    }

    /// Runs a call that no session made: nobody can be asked anything meanwhile.
    pub(crate) async fn call_outside(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value, McpCallError> {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = Some(arguments);
        let answer = self.running.call_tool(params).await;
        to_value(self.checked_answer(answer).await?)
    }

    /// Returns one page of a list, as the server wrote it.
    pub(crate) async fn list(
        &self,
        what: ResourceListKind,
        cursor: Option<String>,
    ) -> Result<Value, McpCallError> {
        let page = Some(PaginatedRequestParams::default().with_cursor(cursor));
        match what {
            ResourceListKind::Resources => {
                let listed = self.running.list_resources(page).await;
                to_value(self.checked_answer(listed).await?)
            }
            ResourceListKind::Templates => {
                let listed = self.running.list_resource_templates(page).await;
                to_value(self.checked_answer(listed).await?)
            }
        }
    }

    /// Asks for the prompts that the server offers; none if it has none.
    pub(crate) async fn prompts(&self) -> Result<Vec<Prompt>, McpCallError> {
        let info = self.running.peer_info();
        if info.is_none_or(|info| info.capabilities.prompts.is_none()) {
            return Ok(Vec::new());
        }
        let mut prompts = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES_MAX {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let listed = self.running.list_prompts(Some(page)).await;
            let page = self.checked_answer(listed).await?;
            prompts.extend(page.prompts);
            cursor = page.next_cursor;
            if cursor.is_none() || prompts.len() >= PROMPTS_MAX {
                break;
            }
        }
        Ok(prompts)
    }

    /// Returns the messages of a prompt, as the server wrote them.
    pub(crate) async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Vec<Value>, McpCallError> {
        let params = GetPromptRequestParams::new(name).with_arguments(arguments);
        let filled = self.running.get_prompt(params).await;
        let messages = self.checked_answer(filled).await?.messages;
        messages.into_iter().map(to_value).collect()
    }

    pub(crate) async fn read(&self, uri: &str) -> Result<Value, McpCallError> {
        let params = ReadResourceRequestParams::new(uri);
        let read = self.running.read_resource(params).await;
        to_value(self.checked_answer(read).await?)
    }

    /// Returns an answer, or why there is none.
    async fn checked_answer<T>(&self, answer: Result<T, ServiceError>) -> Result<T, McpCallError> {
        let error = match answer {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if let Some(how) = &self.unauthorized
            && plain::is_unauthorized(&error)
        {
            return Err(McpCallError::Refused(how.clone()));
        }
        Err(match error {
            ServiceError::McpError(error) => McpCallError::Refused(error.message.into_owned()),
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                let ended = match &self.obituary {
                    Some(obituary) => obituary.read().await,
                    None => None,
                };
                McpCallError::Gone(ended.unwrap_or_else(|| plain::request(&error)))
            }
            error => McpCallError::Refused(plain::request(&error)),
        })
    }
}

/// Tells the server that nobody waits for the answer.
async fn withdraw(handle: RequestHandle<RoleClient>, reason: &str) {
    // A server that is gone does not need to know.
    discard!(
        handle.cancel(Some(reason.to_owned())).await,
        "a call was not withdrawn: the server is gone"
    );
}

fn result(result: ServerResult) -> Result<Value, McpCallError> {
    match result {
        ServerResult::CallToolResult(result) => to_value(result),
        // What the SDK has no type for is passed on as it is.
        ServerResult::CustomResult(result) => Ok(result.0),
        _ => Err(McpCallError::Refused(
            "the server answered with something that is no result of a tool".to_owned(),
        )),
    }
}

fn to_value(answer: impl serde::Serialize) -> Result<Value, McpCallError> {
    serde_json::to_value(answer).map_err(|error| McpCallError::Refused(error.to_string()))
}

fn tool_info(tool: Tool) -> ToolInfo {
    let annotations = tool.annotations.as_ref();
    let title = annotations.and_then(|annotations| annotations.title.clone());
    let hint = |hint: Option<bool>| hint == Some(true);
    ToolInfo {
        hints: annotations.map_or_else(ToolHints::default, |annotations| ToolHints {
            read_only: hint(annotations.read_only_hint),
            destructive: hint(annotations.destructive_hint),
        }),
        annotations: annotations.and_then(|annotations| serde_json::to_value(annotations).ok()),
        name: tool.name.into_owned(),
        title: tool.title.or(title),
        description: tool.description.map(std::borrow::Cow::into_owned),
        input_schema: Value::Object((*tool.input_schema).clone()),
    }
}

fn command(door: &ServerEndpoint, deps: &McpServerPoolDeps) -> Result<CommandSpec, String> {
    let ServerEndpoint::Stdio {
        command,
        args,
        env,
        env_vars,
        cwd,
    } = door
    else {
        return Err("the server has no program".to_owned());
    };
    let cwd = cwd.as_ref().map(|cwd| deps.cwd.join(cwd));
    Ok(CommandSpec {
        argv: std::iter::once(command).chain(args).cloned().collect(),
        cwd: cwd.unwrap_or_else(|| deps.cwd.clone()),
        env: environment(&deps.environment, env, env_vars)?,
        confinement: Confinement::Unconfined,
        terminal: None,
        stdin: StdinMode::Pipe,
    })
}

/// Says what to do when the server answers that it does not know who asks.
fn unauthorized(name: &str, address: &HttpTarget<'_>, is_logged_in: bool) -> String {
    match address.bearer_token_env_var {
        Some(variable) => format!("the server does not take the token in {variable}"),
        None if address.has_own_authorization() => {
            "the server does not take the Authorization header of the configuration".to_owned()
        }
        None if is_logged_in => {
            format!("the server no longer takes the login; log in again: troupe mcp login {name}")
        }
        None => format!(
            "the server wants a login; run: troupe mcp login {name} (or put a token into a variable \
             and name that in bearer_token_env_var)"
        ),
    }
}
