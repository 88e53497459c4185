//! The resources of servers, for the model: two lists and a door.

use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use troupe_protocol::tool::ToolSpec;
use troupe_tools::{Tool, ToolConcurrency, ToolInvocation, ToolOutput, arguments, item, truncate};

use crate::connection::{McpCallError, ResourceListKind};
use crate::content;
use crate::limits::ANSWER_TOKENS_MAX;
use crate::server::McpServerHandle;

/// Returns the tools by which the model reaches the resources of these servers.
pub(crate) fn tools(servers: Vec<McpServerHandle>) -> [Arc<dyn Tool>; 3] {
    let servers: Arc<[McpServerHandle]> = servers.into();
    [
        Arc::new(ListTool {
            what: ResourceListKind::Resources,
            servers: Arc::clone(&servers),
        }),
        Arc::new(ListTool {
            what: ResourceListKind::Templates,
            servers: Arc::clone(&servers),
        }),
        Arc::new(ReadTool { servers }),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListResourcesArguments {
    /// The name of one MCP server; all of them if absent.
    server: Option<String>,
    /// Where to go on: the nextCursor of an earlier answer. It needs the server too.
    cursor: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadResourceArguments {
    /// The name of the MCP server.
    server: String,
    /// The address of the resource, as a list or a link gave it.
    uri: String,
}

static LIST_RESOURCES: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<ListResourcesArguments>(
        "list_mcp_resources",
        "Lists resources that MCP servers offer: files, records and other context. Read one with \
         read_mcp_resource.",
    )
});

static LIST_TEMPLATES: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<ListResourcesArguments>(
        "list_mcp_resource_templates",
        "Lists templates of resource addresses that MCP servers offer. Fill one in and read it \
         with read_mcp_resource.",
    )
});

static READ: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<ReadResourceArguments>(
        "read_mcp_resource",
        "Reads a resource of an MCP server.",
    )
});

#[derive(Debug)]
struct ListTool {
    what: ResourceListKind,
    servers: Arc<[McpServerHandle]>,
}

#[async_trait]
impl Tool for ListTool {
    fn spec(&self) -> &ToolSpec {
        match self.what {
            ResourceListKind::Resources => &LIST_RESOURCES,
            ResourceListKind::Templates => &LIST_TEMPLATES,
        }
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let spec = self.spec();
        let wanted: ListResourcesArguments = match arguments::parse(&call, spec).await {
            Ok(wanted) => wanted,
            Err(output) => return output,
        };
        item::shown(&call, spec.name(), async {
            answer(self.list(&call, wanted).await)
        })
        .await
    }
}

impl ListTool {
    async fn list(
        &self,
        call: &ToolInvocation,
        wanted: ListResourcesArguments,
    ) -> Result<ToolOutput, String> {
        let ListResourcesArguments { server, cursor } = wanted;
        let servers = match &server {
            Some(name) => std::slice::from_ref(find(&self.servers, name)?),
            None if cursor.is_some() => {
                return Err("a cursor belongs to one server; name it too".to_owned());
            }
            None => &*self.servers,
        };
        let mut pages = Map::new();
        for server in servers {
            let page = ask(
                server,
                call,
                ResourceRequest::List(self.what, cursor.clone()),
            );
            // One that does not answer does not hide the others.
            let page = match (page.await, servers.len()) {
                (Ok(page), _) => without_meta(page),
                (Err(error), 1) => return Err(error),
                (Err(error), _) => json!({ "error": error }),
            };
            pages.insert(server.name.to_string(), page);
        }
        let text = Value::Object(pages).to_string();
        let text = truncate::middle(&text, ANSWER_TOKENS_MAX).into_owned();
        Ok(ToolOutput::success(text))
    }
}

#[derive(Debug)]
struct ReadTool {
    servers: Arc<[McpServerHandle]>,
}

#[async_trait]
impl Tool for ReadTool {
    fn spec(&self) -> &ToolSpec {
        &READ
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let ReadResourceArguments { server, uri } = match arguments::parse(&call, &READ).await {
            Ok(wanted) => wanted,
            Err(output) => return output,
        };
        item::shown(&call, READ.name(), async {
            let read = async {
                let server = find(&self.servers, &server)?;
                ask(server, &call, ResourceRequest::Read(&uri)).await
            };
            let body = match read.await {
                Ok(result) => Ok(content::of_resource(result).decoded().await.body),
                Err(problem) => Err(problem),
            };
            answer(body.map(ToolOutput::success))
        })
        .await
    }
}

fn find<'a>(servers: &'a [McpServerHandle], name: &str) -> Result<&'a McpServerHandle, String> {
    let found = servers.iter().find(|server| *server.name == *name);
    found.ok_or_else(|| {
        let names: Vec<&str> = servers.iter().map(|server| &*server.name).collect();
        format!(
            "no MCP server with resources is called {name:?}; there are: {}",
            names.join(", ")
        )
    })
}

/// What a server is asked for.
enum ResourceRequest<'a> {
    List(ResourceListKind, Option<String>),
    Read(&'a str),
}

/// Asks a server, for as long as a call of it may take.
async fn ask(
    server: &McpServerHandle,
    call: &ToolInvocation,
    request: ResourceRequest<'_>,
) -> Result<Value, String> {
    let name = &server.name;
    let time_max = server.config.tool_time_max;
    let asking = async {
        let connection = server.connect().await.map_err(McpCallError::Gone)?;
        match request {
            ResourceRequest::List(what, cursor) => connection.list(what, cursor).await,
            ResourceRequest::Read(uri) => connection.read(uri).await,
        }
    };
    let answered = tokio::select! {
        answered = tokio::time::timeout(time_max, asking) => {
            answered.unwrap_or(Err(McpCallError::TimedOut(time_max)))
        }
        () = call.cancel.cancelled() => Err(McpCallError::Cancelled),
    };
    answered.map_err(|trouble| format!("the MCP server {name} did not answer: {trouble}"))
}

fn answer(output: Result<ToolOutput, String>) -> ToolOutput {
    output.unwrap_or_else(ToolOutput::failure)
}

/// Leaves out what is between the two programs.
fn without_meta(mut page: Value) -> Value {
    if let Some(fields) = page.as_object_mut() {
        fields.retain(|key, _| !matches!(key.as_str(), "_meta" | "resultType"));
    }
    page
}
