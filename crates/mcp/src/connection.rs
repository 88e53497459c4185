//! One connection to a server, from its greeting to its end.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, PaginatedRequestParams,
    ReadResourceRequestParams, ServerResult, Tool,
};
use rmcp::serve_client;
use rmcp::service::{
    ClientInitializeError, PeerRequestOptions, RequestHandle, RoleClient, RunningService,
    ServiceError,
};
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};
use troupe_process::{CommandSpec, Confinement, StdinMode};
use troupe_protocol::EventMsg;
use troupe_protocol::discard;
use troupe_tools::{Call, ToolEvent};

use crate::approval::Hints;
use crate::client::Client;
use crate::config::{Door, ServerConfig};
use crate::environment::environment;
use crate::hub::HubDeps;
use crate::limits::{PAGES_MAX, PROGRESS_EVENTS_MAX, TOOLS_MAX};
use crate::plain;
use crate::stdio::{Obituary, StdioTransport};
use crate::streamable::{self, Address};

/// An open connection. Dropping it ends the server's process.
#[derive(Debug)]
pub(crate) struct Connection {
    running: RunningService<RoleClient, Client>,
    /// Of a process of ours.
    obituary: Option<Obituary>,
}

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolInfo {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub input_schema: Value,
    pub annotations: Option<Value>,
    pub hints: Hints,
}

/// What a server offers.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Catalogue {
    pub tools: Vec<ToolInfo>,
    pub has_resources: bool,
    /// The server has more tools than are taken.
    pub is_cut: bool,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Trouble {
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
}

/// A list that comes in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    Resources,
    Templates,
}

impl Connection {
    /// Opens a connection, or says what is in the way.
    pub(crate) async fn open(
        name: &str,
        config: &ServerConfig,
        deps: &HubDeps,
        changed: Arc<Notify>,
    ) -> Result<Self, String> {
        let client = Client::new(name, changed);
        match &config.door {
            Door::Stdio { .. } => {
                let spec = command(&config.door, deps)?;
                let process = deps.launcher.spawn(spec).await;
                let process = process.map_err(|error| plain::chain(&error))?;
                let (transport, obituary) = StdioTransport::new(process);
                match serve_client(client, transport).await {
                    Ok(running) => Ok(Self {
                        running,
                        obituary: Some(obituary),
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
            Door::Http {
                url,
                bearer_token_env_var,
                http_headers,
                env_http_headers,
            } => {
                let address = Address {
                    url,
                    bearer_token_env_var: bearer_token_env_var.as_deref(),
                    http_headers,
                    env_http_headers,
                };
                let transport = streamable::transport(&address, &deps.environment)?;
                let running = serve_client(client, transport).await.map_err(|error| {
                    if error.is_authorization_required() {
                        return refused_token(bearer_token_env_var.as_deref());
                    }
                    plain::opening(&error)
                })?;
                Ok(Self {
                    running,
                    obituary: None,
                })
            }
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.running.is_transport_closed()
    }

    /// Asks for everything that the server offers.
    pub(crate) async fn catalogue(&self) -> Result<Catalogue, Trouble> {
        let info = self.running.peer_info();
        let capabilities = info.map(|info| info.capabilities.clone());
        let capabilities = capabilities.unwrap_or_default();
        let mut catalogue = Catalogue {
            has_resources: capabilities.resources.is_some(),
            ..Catalogue::default()
        };
        if capabilities.tools.is_none() {
            return Ok(catalogue);
        }
        let mut cursor = None;
        for _ in 0..PAGES_MAX {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let listed = self.running.list_tools(Some(page)).await;
            let page = self.told(listed).await?;
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
        call: &Call,
        time_max: Duration,
    ) -> Result<Value, Trouble> {
        let client = self.running.service();
        let entry = client.calls.enter(call);
        // Before the request is sent, so that no step is missed.
        let mut steps = client.progress.subscribe();
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = Some(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::no_options();
        let sent = self.running.send_request_with_option(request, options);
        let mut handle = self.told(sent.await).await?;
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
                    return result(self.told(answer).await?);
                }
                () = call.cancel.cancelled() => {
                    withdraw(handle, "the user interrupted the call").await;
                    return Err(Trouble::Cancelled);
                }
                () = sleep_until(deadline) => {
                    // The server waits for a person, not the person for the server.
                    if entry.is_asking() {
                        deadline = Instant::now() + time_max;
                        continue;
                    }
                    withdraw(handle, "the call took too long").await;
                    return Err(Trouble::TimedOut(time_max));
                }
            }
        }
    }

    /// Runs a call that no session made: nobody can be asked anything meanwhile.
    pub(crate) async fn call_outside(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<Value, Trouble> {
        let mut params = CallToolRequestParams::new(tool.to_owned());
        params.arguments = Some(arguments);
        let answer = self.running.call_tool(params).await;
        to_value(self.told(answer).await?)
    }

    /// Returns one page of a list, as the server wrote it.
    pub(crate) async fn list(
        &self,
        what: Listed,
        cursor: Option<String>,
    ) -> Result<Value, Trouble> {
        let page = Some(PaginatedRequestParams::default().with_cursor(cursor));
        match what {
            Listed::Resources => {
                let listed = self.running.list_resources(page).await;
                to_value(self.told(listed).await?)
            }
            Listed::Templates => {
                let listed = self.running.list_resource_templates(page).await;
                to_value(self.told(listed).await?)
            }
        }
    }

    pub(crate) async fn read(&self, uri: &str) -> Result<Value, Trouble> {
        let params = ReadResourceRequestParams::new(uri);
        let read = self.running.read_resource(params).await;
        to_value(self.told(read).await?)
    }

    /// Returns an answer, or why there is none.
    async fn told<T>(&self, answer: Result<T, ServiceError>) -> Result<T, Trouble> {
        let error = match answer {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        Err(match error {
            ServiceError::McpError(error) => Trouble::Refused(error.message.into_owned()),
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                let ended = match &self.obituary {
                    Some(obituary) => obituary.read().await,
                    None => None,
                };
                Trouble::Gone(ended.unwrap_or_else(|| plain::request(&error)))
            }
            error => Trouble::Refused(plain::request(&error)),
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

fn result(result: ServerResult) -> Result<Value, Trouble> {
    match result {
        ServerResult::CallToolResult(result) => to_value(result),
        // What the SDK has no type for is passed on as it is.
        ServerResult::CustomResult(result) => Ok(result.0),
        _ => Err(Trouble::Refused(
            "the server answered with something that is no result of a tool".to_owned(),
        )),
    }
}

fn to_value(answer: impl serde::Serialize) -> Result<Value, Trouble> {
    serde_json::to_value(answer).map_err(|error| Trouble::Refused(error.to_string()))
}

fn tool_info(tool: Tool) -> ToolInfo {
    let annotations = tool.annotations.as_ref();
    let title = annotations.and_then(|annotations| annotations.title.clone());
    let hint = |hint: Option<bool>| hint == Some(true);
    ToolInfo {
        hints: annotations.map_or_else(Hints::default, |annotations| Hints {
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

fn command(door: &Door, deps: &HubDeps) -> Result<CommandSpec, String> {
    let Door::Stdio {
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

fn refused_token(variable: Option<&str>) -> String {
    match variable {
        Some(variable) => format!("the server does not take the token in {variable}"),
        None => "the server wants a token; put it into a variable and name that in \
                 bearer_token_env_var"
            .to_owned(),
    }
}
