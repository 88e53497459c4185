//! Sessions are opened, listed and closed, beside the connection.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::limits::TITLE_CHARS_MAX;
use agent_client_protocol_schema::v1::{
    ListSessionsRequest, ListSessionsResponse, McpServer, SessionInfo,
};
use serde_json::{Map, Value, json};
use troupe_protocol::SessionId;
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::text::one_line;
use troupe_server::{RootSession, SessionPool};
use troupe_store::{ListQuery, SessionSummary};
use troupe_transport::rpc::RpcError;

use super::failure;

/// Which session a client wants.
#[derive(Debug, Clone)]
pub(super) struct OpenSessionRequest {
    /// None for a new one.
    pub session: Option<SessionId>,
    pub cwd: PathBuf,
    pub servers: Vec<McpServer>,
}

/// Opens the session of a wish.
pub(super) async fn open(
    house: &SessionPool,
    wish: OpenSessionRequest,
) -> Result<RootSession, RpcError> {
    if !wish.cwd.is_absolute() {
        return Err(RpcError::invalid_params(format!(
            "cwd: {} is not an absolute path",
            wish.cwd.display()
        )));
    }
    let request = ConfigureSession {
        overrides: TurnOverrides {
            cwd: Some(wish.cwd),
            ..TurnOverrides::default()
        },
        config: servers(&wish.servers)?,
        ..ConfigureSession::default()
    };
    let opened = match wish.session {
        None => house.start(request).await,
        Some(session) => house.resume(session, request).await,
    };
    opened.map_err(|error| failure::opening(&error))
}

/// Returns the settings that give a session the client's servers, by the names that the
/// configuration knows servers by.
fn servers(servers: &[McpServer]) -> Result<Map<String, Value>, RpcError> {
    let mut tables = Map::new();
    for server in servers {
        let (name, table) = match server {
            McpServer::Stdio(server) => {
                let variables = server.env.iter().map(|it| (&it.name, &it.value));
                let env: BTreeMap<_, _> = variables.collect();
                let table = json!({
                    "command": server.command,
                    "args": server.args,
                    "env": env,
                });
                (&server.name, table)
            }
            McpServer::Http(server) => {
                let headers = server.headers.iter().map(|it| (&it.name, &it.value));
                let headers: BTreeMap<_, _> = headers.collect();
                let table = json!({"url": server.url, "http_headers": headers});
                (&server.name, table)
            }
            _ => {
                return Err(RpcError::invalid_params(
                    "mcpServers: only stdio and http servers can be used; the capabilities say so",
                ));
            }
        };
        tables.insert(server_name(name), table);
    }
    Ok(if tables.is_empty() {
        Map::new()
    } else {
        Map::from_iter([("mcp_servers".to_owned(), tables.into())])
    })
}

/// A server's name is part of the names of its tools, which have few letters to choose from.
fn server_name(name: &str) -> String {
    let letter = |it: char| match it {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => it,
        _ => '_',
    };
    name.chars().map(letter).collect()
}

/// Lists stored sessions, those that changed last first.
pub(super) async fn list(
    house: &SessionPool,
    request: ListSessionsRequest,
) -> Result<ListSessionsResponse, RpcError> {
    let store = house.store().map_err(RpcError::internal)?;
    let query = ListQuery {
        cwds: request.cwd.into_iter().collect(),
        cursor: request.cursor,
        ..ListQuery::default()
    };
    let page = store.list(&query).await;
    let page = page.map_err(|error| RpcError::invalid_params(error.to_string()))?;
    let sessions = page.sessions.iter().map(info).collect();
    Ok(ListSessionsResponse::new(sessions).next_cursor(page.next))
}

fn info(summary: &SessionSummary) -> SessionInfo {
    let title = summary.name.as_ref().or(summary.preview.as_ref());
    SessionInfo::new(summary.id.to_string(), Path::new(&summary.cwd))
        .title(title.map(|title| one_line(title, TITLE_CHARS_MAX)))
        .updated_at(summary.updated.to_string())
}
