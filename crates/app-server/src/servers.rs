//! `mcpServer/*` and `config/mcpServer/reload`: servers as a client uses them itself.

use std::path::PathBuf;

use serde_json::Value;
use troupe_protocol::Op;
use troupe_protocol::discard;
use troupe_transport::rpc::RpcError;

use super::call::{Handling, MethodCall};
use super::connection::AppConnection;
use super::threads::open_thread;
use super::wire::Empty;
use super::wire::mcp::{
    McpResourceReadParams, McpResourceReadResponse, McpServerToolCallParams,
    McpServerToolCallResponse,
};

pub(super) fn read_resource(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: McpResourceReadParams| async move {
            let cwd = match &params.thread_id {
                Some(thread) => Some(cwd_of(&client, thread).await?),
                None => None,
            };
            let office = client.app().host_services();
            let read = office.read_resource(cwd, &params.server, &params.uri);
            let mut answer = read.await.map_err(RpcError::invalid_request)?;
            Ok(McpResourceReadResponse {
                contents: list(answer["contents"].take()),
            })
        },
    )
}

pub(super) fn call_tool(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: McpServerToolCallParams| async move {
            let cwd = cwd_of(&client, &params.thread_id).await?;
            let arguments = params.arguments.unwrap_or_default();
            let office = client.app().host_services();
            let called = office.call_tool(cwd, &params.server, &params.tool, arguments);
            let mut answer = called.await.map_err(RpcError::invalid_request)?;
            let mut given = |key: &str| answer.get_mut(key).map(Value::take);
            Ok(McpServerToolCallResponse {
                content: list(given("content").unwrap_or_default()),
                structured_content: given("structuredContent"),
                is_error: given("isError").and_then(|is_error| is_error.as_bool()),
                meta: given("_meta"),
            })
        },
    )
}

/// Has the list of servers be read again, and all of them be asked anew, by every thread with
/// its next request.
pub(super) fn reload(call: MethodCall) -> Handling {
    call.answer(|client: AppConnection, _: Empty| async move {
        client.app().host_services().refresh_servers();
        for thread in client.app().session_pool().loaded().await {
            // One that ends meanwhile needs no servers.
            discard!(
                thread.submit(Op::RefreshMcpServers).await,
                "the session has ended"
            );
        }
        Ok(Empty {})
    })
}

async fn cwd_of(client: &AppConnection, thread: &str) -> Result<PathBuf, RpcError> {
    let thread = open_thread(client, thread).await?;
    Ok(thread.configured().context.cwd.clone())
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}
