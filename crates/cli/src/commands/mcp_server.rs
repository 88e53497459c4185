//! `troupe mcp-server`: sessions as tools for other agents.

use std::sync::Arc;

use clap::Args;
use tracing::Instrument as _;
use troupe_mcp::serve::serve_stream;
use troupe_protocol::session::SessionSource;
use troupe_server::SessionPool;
use troupe_server::mcp::{McpListener, SessionTools};
use troupe_transport::{NetProtocol, SessionAddress};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::listen_arguments::{AccessArguments, StopSignals};
use crate::commands::{block_on, tell};
use crate::diagnostics;
use crate::exec::signals::ExitSignal;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here};
use crate::layers::ConfigSource;
use crate::wiring::Wiring;

#[derive(Debug, Args)]
#[command(
    after_help = "Other agents start it by themselves: give them the command `troupe mcp-server`. It ends when
they close its standard input. docs/mcp-server.md has the tools, and how to add it.

Examples:
  npx @modelcontextprotocol/inspector --cli troupe mcp-server --method tools/list

  troupe mcp-server --listen http:127.0.0.1:7040
  curl -H \"Authorization: Bearer $(cat ~/.troupe/run/mcp.token)\" http://127.0.0.1:7040/mcp"
)]
pub struct McpServerArguments {
    /// Where clients reach it: stdio, or http:HOST:PORT (repeatable). Port 0 takes any free one;
    /// the addresses are told on stderr. Without it: stdio
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<SessionAddress>,

    #[command(flatten)]
    door: AccessArguments,

    #[command(flatten)]
    overrides: ConfigOverrides,
}

pub fn run(
    arguments: McpServerArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let is_stdio = on_stdio(&arguments.listen)?;
    let cwd = here()?;
    let source = ConfigSource {
        home: TroupeHome::find()?,
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    let home = source.home.clone();
    let wiring = Wiring::new(source, &cwd, SessionSource::Mcp)?;
    let headless = wiring.here().settings.rights.headless();
    block_on(async {
        let mut signals = StopSignals::listen()?;
        let listener = if is_stdio {
            None
        } else {
            Some(bind(&arguments.listen, &arguments.door, &home).await?)
        };
        let house = SessionPool::new(wiring.into_ground());
        let version = env!("CARGO_PKG_VERSION");
        let orchestra = Arc::new(SessionTools::new(house.clone(), headless, version));
        if let Some(listener) = listener {
            listener.run(orchestra, &mut signals).await;
        } else {
            let (read, write) = (tokio::io::stdin(), tokio::io::stdout());
            let connection = diagnostics::stdio_connection();
            tokio::select! {
                () = serve_stream(orchestra, read, write).instrument(connection) => {}
                () = signals.next() => {}
            }
        }
        let asked = signals.asked;
        tokio::select! {
            () = house.end() => {}
            () = signals.next() => return Ok(CommandExit::Killed),
        }
        Ok(match asked {
            Some(ExitSignal::Terminate) => CommandExit::Terminated,
            Some(ExitSignal::Interrupt) | None => CommandExit::Success,
        })
    })
}

/// Tells whether the one client is the one that started us.
fn on_stdio(listen: &[SessionAddress]) -> Result<bool, CommandFailure> {
    let is_http =
        |address: &SessionAddress| matches!(address, SessionAddress::Net(NetProtocol::Http, _));
    match listen {
        [] | [SessionAddress::Stdio] => Ok(true),
        all if all.iter().all(is_http) => Ok(false),
        _ => Err(CommandFailure::usage(
            "--listen takes stdio, or any number of http:HOST:PORT".to_owned(),
        )),
    }
}

async fn bind(
    listen: &[SessionAddress],
    door: &AccessArguments,
    home: &TroupeHome,
) -> Result<McpListener, CommandFailure> {
    let (options, path) = door.options(listen, home, "mcp.token")?;
    let listener = McpListener::bind(options).await;
    let listener = listener.map_err(CommandFailure::not_started)?;
    for url in listener.urls() {
        tell(&format!("listening on {url}"));
    }
    if let Some(path) = path {
        tell(&format!("clients show the token in {}", path.display()));
    }
    Ok(listener)
}
