//! `troupe mcp-server`: sessions as tools for other agents.

use std::sync::Arc;

use clap::Args;
use tracing::Instrument as _;
use troupe_mcp::serve::serve_stream;
use troupe_protocol::session::SessionSource;
use troupe_server::House;
use troupe_server::mcp::{McpListener, Orchestra};
use troupe_transport::{Address, Protocol};

use crate::arguments::{Layers, Overrides};
use crate::commands::door::{DoorArguments, Signals};
use crate::commands::{block_on, tell};
use crate::diagnostics;
use crate::exec::signals::StopRequest;
use crate::failure::{Exit, Failure, Outcome};
use crate::home::{Home, here};
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
    listen: Vec<Address>,

    #[command(flatten)]
    door: DoorArguments,

    #[command(flatten)]
    overrides: Overrides,
}

pub fn run(arguments: McpServerArguments, overrides: Overrides, layers: Layers) -> Outcome {
    let is_stdio = on_stdio(&arguments.listen)?;
    let cwd = here()?;
    let source = ConfigSource {
        home: Home::find()?,
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    let home = source.home.clone();
    let wiring = Wiring::new(source, &cwd, SessionSource::Mcp)?;
    let headless = wiring.here().settings.rights.headless();
    block_on(async {
        let mut signals = Signals::listen()?;
        let listener = if is_stdio {
            None
        } else {
            Some(bind(&arguments.listen, &arguments.door, &home).await?)
        };
        let house = House::new(wiring.into_ground());
        let version = env!("CARGO_PKG_VERSION");
        let orchestra = Arc::new(Orchestra::new(house.clone(), headless, version));
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
            () = signals.next() => return Ok(Exit::Killed),
        }
        Ok(match asked {
            Some(StopRequest::Terminate) => Exit::Terminated,
            Some(StopRequest::Interrupt) | None => Exit::Success,
        })
    })
}

/// Tells whether the one client is the one that started us.
fn on_stdio(listen: &[Address]) -> Result<bool, Failure> {
    let is_http = |address: &Address| matches!(address, Address::Net(Protocol::Http, _));
    match listen {
        [] | [Address::Stdio] => Ok(true),
        all if all.iter().all(is_http) => Ok(false),
        _ => Err(Failure::usage(
            "--listen takes stdio, or any number of http:HOST:PORT".to_owned(),
        )),
    }
}

async fn bind(
    listen: &[Address],
    door: &DoorArguments,
    home: &Home,
) -> Result<McpListener, Failure> {
    let (options, path) = door.options(listen, home, "mcp.token")?;
    let listener = McpListener::bind(options).await;
    let listener = listener.map_err(Failure::not_started)?;
    for url in listener.urls() {
        tell(&format!("listening on {url}"));
    }
    if let Some(path) = path {
        tell(&format!("clients show the token in {}", path.display()));
    }
    Ok(listener)
}
