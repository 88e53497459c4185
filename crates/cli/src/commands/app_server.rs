//! `troupe app-server`: many threads for clients that speak JSON-RPC.

mod generate;

use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use troupe_protocol::session::SessionSource;
use troupe_server::House;
use troupe_server::app::{App, AppListener};
use troupe_transport::{Address, Protocol};

use crate::arguments::{Layers, Overrides};
use crate::commands::door::{DoorArguments, Signals, private_directory};
use crate::commands::{block_on, tell};
use crate::diagnostics;
use crate::exec::signals::StopRequest;
use crate::failure::{Exit, Failure, Outcome};
use crate::home::{Home, here};
use crate::layers::ConfigSource;
use crate::wiring::Wiring;
use generate::Generate;

/// The socket in the directory run of the home, where nobody names another.
const SOCKET: &str = "app-server.sock";

#[derive(Debug, Args)]
#[command(
    after_help = "Editors and scripts start it and speak JSON-RPC with it, one message per line: initialize,
thread/start, turn/start, and so on (docs/app-server.md). At the end of input its threads end in
order; they can be resumed.

With --listen any number of clients share one server and its threads, each over a WebSocket. It
ends by Ctrl-C.

Examples:
  printf '%s\\n' '{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientInfo\":{\"name\":\"me\",\"version\":\"1\"}}}' \\
    | troupe app-server

  troupe app-server --listen unix:// --listen ws://127.0.0.1:4500
  curl http://127.0.0.1:4500/readyz
  websocat -H \"Authorization: Bearer $(cat ~/.troupe/run/app-server.token)\" ws://127.0.0.1:4500"
)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AppServerArguments {
    /// Where clients reach the server: stdio://, or any number of unix://PATH and ws://IP:PORT
    /// (repeatable). unix:// alone is run/app-server.sock in the home; port 0 takes any free
    /// one; the addresses are told on stderr. Without it: stdio://
    #[arg(long, value_name = "URL")]
    listen: Vec<Listen>,
    #[command(flatten)]
    door: DoorArguments,
    #[command(flatten)]
    overrides: Overrides,
    #[command(subcommand)]
    generate: Option<Generate>,
}

/// Where an app-server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Listen {
    Stdio,
    /// The socket of the home.
    HomeSocket,
    At(Address),
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "stdio://" | "stdio" => return Ok(Self::Stdio),
            "unix://" => return Ok(Self::HomeSocket),
            _ => {}
        }
        match text.parse() {
            Ok(address @ (Address::Unix(_) | Address::Net(Protocol::WebSocket, _))) => {
                Ok(Self::At(address))
            }
            Ok(_) | Err(_) => Err(format!(
                "{text:?} is not a place to listen; write stdio://, unix://PATH or ws://IP:PORT"
            )),
        }
    }
}

pub fn run(arguments: AppServerArguments, overrides: Overrides, layers: Layers) -> Outcome {
    if let Some(generate) = arguments.generate {
        return generate.run();
    }
    let cwd = here()?;
    let source = ConfigSource {
        home: Home::find()?,
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    let home = source.home.clone();
    let listen = addresses(&arguments.listen, &home)?;
    let wiring = Wiring::new(source, &cwd, SessionSource::AppServer)?;
    block_on(async {
        let mut signals = Signals::listen()?;
        let listener = match listen.as_slice() {
            [] => None,
            listen => Some(bind(listen, &arguments.door, &home).await?),
        };
        let ground = wiring.into_ground();
        let house = House::new(Arc::clone(&ground) as _);
        let app = App::new(house, ground, home.path().to_owned());
        serve(&app, listener, &mut signals).await
    })
}

/// Serves until the end of input or a signal. The first signal ends the threads in order, a
/// second one everything at once.
async fn serve(app: &App, listener: Option<AppListener>, signals: &mut Signals) -> Outcome {
    let ending = CancellationToken::new();
    let until = ending.clone();
    let serving = async {
        if let Some(listener) = listener {
            listener.run(app, until).await;
            return Ok(());
        }
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        app.serve_lines(input, output, until)
            .instrument(diagnostics::stdio_connection())
            .await
    };
    let mut serving = std::pin::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => Some(served),
        () = signals.next() => None,
    };
    let asked = signals.asked;
    let end = async {
        // Clients that are still there hear how their threads end.
        let ended = async {
            app.end().await;
            ending.cancel();
        };
        match served {
            Some(served) => {
                ended.await;
                served
            }
            None => tokio::join!(ended, serving).1,
        }
    };
    tokio::select! {
        served = end => served.map_err(Failure::failed)?,
        () = signals.next() => return Ok(Exit::Killed),
    }
    Ok(match asked {
        Some(StopRequest::Terminate) => Exit::Terminated,
        Some(StopRequest::Interrupt) | None => Exit::Success,
    })
}

/// Returns where to listen; nowhere if the one client is the one that started us.
fn addresses(listen: &[Listen], home: &Home) -> Result<Vec<Address>, Failure> {
    let mut addresses = Vec::new();
    for place in listen {
        let address = match place {
            Listen::Stdio if listen.len() == 1 => return Ok(Vec::new()),
            Listen::Stdio => {
                let message =
                    "--listen stdio:// stands alone: its client decides when the server ends";
                return Err(Failure::usage(message.to_owned()));
            }
            Listen::HomeSocket => {
                private_directory(home.path()).map_err(Failure::not_started)?;
                Address::Unix(home.path().join("run").join(SOCKET))
            }
            Listen::At(address) => address.clone(),
        };
        addresses.push(address);
    }
    Ok(addresses)
}

async fn bind(
    listen: &[Address],
    door: &DoorArguments,
    home: &Home,
) -> Result<AppListener, Failure> {
    let (options, path) = door.options(listen, home, "app-server.token")?;
    let listener = AppListener::bind(options).await;
    let listener = listener.map_err(Failure::not_started)?;
    for url in listener.urls() {
        tell(&format!("listening on {url}"));
    }
    if let Some(path) = path {
        tell(&format!(
            "network clients show the token in {}",
            path.display()
        ));
    }
    Ok(listener)
}
