//! `troupe app-server`: many threads for clients that speak JSON-RPC.

mod generate;

use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;
use troupe_app_server::{AppListener, AppServer};
use troupe_protocol::session::SessionSource;
use troupe_server::SessionPool;
use troupe_transport::{NetProtocol, SessionAddress};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::listen_arguments::{AccessArguments, StopSignals, private_directory};
use crate::commands::{block_on, tell};
use crate::diagnostics;
use crate::exec::signals::ExitSignal;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here};
use crate::layers::ConfigSource;
use crate::wiring::Wiring;
use generate::GenerateCommand;

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
    listen: Vec<ListenChoice>,
    #[command(flatten)]
    door: AccessArguments,
    #[command(flatten)]
    overrides: ConfigOverrides,
    #[command(subcommand)]
    generate: Option<GenerateCommand>,
}

/// Where an app-server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ListenChoice {
    Stdio,
    /// The socket of the home.
    HomeSocket,
    At(SessionAddress),
}

impl FromStr for ListenChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "stdio://" | "stdio" => return Ok(Self::Stdio),
            "unix://" => return Ok(Self::HomeSocket),
            _ => {}
        }
        match text.parse() {
            Ok(
                address
                @ (SessionAddress::Unix(_) | SessionAddress::Net(NetProtocol::WebSocket, _)),
            ) => Ok(Self::At(address)),
            Ok(_) | Err(_) => Err(format!(
                "{text:?} is not a place to listen; write stdio://, unix://PATH or ws://IP:PORT"
            )),
        }
    }
}

pub fn run(
    arguments: AppServerArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    if let Some(generate) = arguments.generate {
        return generate.run();
    }
    let cwd = here()?;
    let source = ConfigSource {
        home: TroupeHome::find()?,
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    let home = source.home.clone();
    let listen = addresses(&arguments.listen, &home)?;
    let wiring = Wiring::new(source, &cwd, SessionSource::AppServer)?;
    block_on(async {
        let mut signals = StopSignals::listen()?;
        let listener = match listen.as_slice() {
            [] => None,
            listen => Some(bind(listen, &arguments.door, &home).await?),
        };
        let ground = wiring.into_ground();
        let house = SessionPool::new(Arc::clone(&ground) as _);
        let app = AppServer::new(house, ground, home.path().to_owned());
        serve(&app, listener, &mut signals).await
    })
}

/// Serves until the end of input or a signal. The first signal ends the threads in order, a
/// second one everything at once.
async fn serve(
    app: &AppServer,
    listener: Option<AppListener>,
    signals: &mut StopSignals,
) -> Outcome {
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
        served = end => served.map_err(CommandFailure::failed)?,
        () = signals.next() => return Ok(CommandExit::Killed),
    }
    Ok(match asked {
        Some(ExitSignal::Terminate) => CommandExit::Terminated,
        Some(ExitSignal::Interrupt) | None => CommandExit::Success,
    })
}

/// Returns where to listen; nowhere if the one client is the one that started us.
fn addresses(
    listen: &[ListenChoice],
    home: &TroupeHome,
) -> Result<Vec<SessionAddress>, CommandFailure> {
    let mut addresses = Vec::new();
    for place in listen {
        let address = match place {
            ListenChoice::Stdio if listen.len() == 1 => return Ok(Vec::new()),
            ListenChoice::Stdio => {
                let message =
                    "--listen stdio:// stands alone: its client decides when the server ends";
                return Err(CommandFailure::usage(message.to_owned()));
            }
            ListenChoice::HomeSocket => {
                private_directory(home.path()).map_err(CommandFailure::not_started)?;
                SessionAddress::Unix(home.path().join("run").join(SOCKET))
            }
            ListenChoice::At(address) => address.clone(),
        };
        addresses.push(address);
    }
    Ok(addresses)
}

async fn bind(
    listen: &[SessionAddress],
    door: &AccessArguments,
    home: &TroupeHome,
) -> Result<AppListener, CommandFailure> {
    let (options, path) = door.options(listen, home, "app-server.token")?;
    let listener = AppListener::bind(options).await;
    let listener = listener.map_err(CommandFailure::not_started)?;
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
