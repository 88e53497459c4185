//! `troupe mcp login` and `troupe mcp logout`: servers that want OAuth.

use clap::Args;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use troupe_mcp::{McpLoginError, McpLoginOptions, McpLoginStore, PendingMcpLogin, ServerEndpoint};

use super::{servers, unknown};
use crate::commands::{block_on, print, tell};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::layers::ConfigSource;

#[derive(Debug, Args)]
pub(super) struct McpLoginArguments {
    /// The server's name.
    name: String,
    /// Ask for this scope (repeatable); for what the server names if absent.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// A client that the server knows already, for servers that take no new ones.
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,
    /// The port of this machine that the browser comes back to; any free one if absent.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
}

pub(super) fn login(source: &ConfigSource, arguments: McpLoginArguments) -> Outcome {
    let McpLoginArguments {
        name,
        scopes,
        client_id,
        port,
    } = arguments;
    let (servers, _) = servers(source)?;
    let config = servers.get(&name).ok_or_else(|| unknown(&name))?;
    let ServerEndpoint::Http { url, .. } = &config.door else {
        return Err(failure(McpLoginError::NotByAddress(name)));
    };
    let store = McpLoginStore::in_home(source.home.path());
    let options = McpLoginOptions {
        client_id,
        scopes,
        port,
    };
    block_on(async {
        let login = PendingMcpLogin::begin(&name, config, options, &store).await;
        let login = login.map_err(failure)?;
        print(&format!(
            "Open this address in a browser, and agree there:\n\n  {}\n\n",
            login.address()
        ))?;
        tell(
            "Waiting for the browser. If it runs on another machine, paste the address that it \
             ends at here.",
        );
        login.finish(pasted()).await.map_err(failure)
    })?;
    let path = store.path(&name, url);
    print(&format!(
        "Logged in to {name}. What it gave is in {}, which only you can read.\n\
         Try it: troupe mcp test {name}\n",
        path.display()
    ))?;
    Ok(CommandExit::Success)
}

pub(super) fn logout(source: &ConfigSource, name: &str) -> Outcome {
    let store = McpLoginStore::in_home(source.home.path());
    if store.forget(name).map_err(CommandFailure::failed)? == 0 {
        return Err(CommandFailure::usage(format!(
            "you are not logged in to an MCP server {name:?}; `troupe mcp` shows where you are"
        )));
    }
    print(&format!(
        "Logged out of {name}: what it gave is deleted here. The server may still list Troupe among \
         its applications.\n"
    ))?;
    Ok(CommandExit::Success)
}

/// Returns the first line of standard input that is an address. Never ends without one.
async fn pasted() -> String {
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if line.trim().starts_with("http") {
            return line;
        }
        if !line.trim().is_empty() {
            tell("That is no address. Paste all of it, from http:// on.");
        }
    }
    std::future::pending().await
}

fn failure(error: McpLoginError) -> CommandFailure {
    match error {
        McpLoginError::NotByAddress(_) | McpLoginError::HasToken { .. } => {
            CommandFailure::usage(error.to_string())
        }
        error => CommandFailure::failed(error),
    }
}
