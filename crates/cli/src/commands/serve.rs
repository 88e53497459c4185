//! `troupe serve`: the daemon of a home.

mod place;
mod unit;

use std::ffi::OsString;
use std::io::Write as _;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use tokio_util::sync::CancellationToken;
use troupe_agents::RecoveryPolicy;
use troupe_daemon::{Daemon, DaemonInfo, DaemonListener};
use troupe_process::{DetachedEnd, DetachedProcess};
use troupe_protocol::session::SessionSource;
use troupe_server::SessionPool;
use troupe_transport::{HostPort, NetProtocol, SessionAddress};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::listen_arguments::{AccessArguments, StopSignals, private_directory};
use crate::commands::{block_on, print, print_raw, tell};
use crate::exec::signals::ExitSignal;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here};
use crate::layers::ConfigSource;
use crate::limits::SOCKET_PATH_BYTES_MAX;
use crate::wiring::Wiring;
use place::{DaemonPlace, DaemonRecord, PlaceTaken};
use unit::UnitKind;

/// The socket in the directory run of the home.
const SOCKET: &str = "serve.sock";
const TOKEN: &str = "serve.token";
/// Where the daemon listens if nobody says.
const PORT: u16 = 4747;

#[derive(Debug, Args)]
#[command(
    after_help = "Sessions, tasks and approvals of this home as resources, for any number of clients (docs/serve.md).
The daemon listens on 127.0.0.1 with a token, and on a Unix socket for the same user without one.
There is one of each home; a second one says where the first is. Ctrl-C ends it: what runs is
interrupted and can be resumed.

Examples:
  troupe serve                           in this terminal
  troupe serve --background              until `troupe serve stop`
  troupe serve status                    where it is
  TOKEN=$(cat ~/.troupe/run/serve.token)
  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:4747/v1/sessions
  curl --unix-socket ~/.troupe/run/serve.sock http://localhost/v1/sessions"
)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ServeArguments {
    #[command(subcommand)]
    command: Option<ServeCommand>,

    /// Where clients reach the daemon (repeatable): http:HOST:PORT or unix:PATH. Port 0 takes any
    /// free one; the addresses are told on stderr. Without it: http:127.0.0.1:4747
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<SessionAddress>,

    #[command(flatten)]
    door: AccessArguments,

    /// Go on without this terminal; answers when clients can come
    #[arg(long)]
    background: bool,

    /// End when nobody has asked for anything for so long, and nothing runs
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    idle_exit: Option<u64>,

    /// Say on stdout when clients can come, to whoever started this in the background
    #[arg(long, hide = true)]
    tell_ready: bool,

    #[command(flatten)]
    overrides: ConfigOverrides,
}

#[derive(Debug, Subcommand)]
enum ServeCommand {
    /// Tell whether the daemon of this home runs, and where.
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// End the daemon of this home in order.
    Stop,
    /// Print a unit that starts the daemon with your login.
    Unit {
        /// For whom; without it, for this system
        kind: Option<UnitKind>,
    },
}

pub fn run(
    arguments: ServeArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    match arguments.command {
        Some(ServeCommand::Status { json }) => return status(json),
        Some(ServeCommand::Stop) => return stop(),
        Some(ServeCommand::Unit { kind }) => {
            let program = std::env::current_exe().map_err(CommandFailure::not_started)?;
            print(
                &kind
                    .unwrap_or_default()
                    .text(&program, &TroupeHome::find()?),
            )?;
            return Ok(CommandExit::Success);
        }
        None => {}
    }
    let home = TroupeHome::find()?;
    if arguments.background {
        return start_in_background(&home);
    }
    let cwd = here()?;
    let source = ConfigSource {
        home: home.clone(),
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    private_directory(home.path()).map_err(CommandFailure::not_started)?;
    let mut place = take_place(&home)?;
    let wiring = Wiring::new(source, &cwd, SessionSource::AppServer)?;
    let listen = addresses(arguments.listen, &home);
    let (options, _) = arguments.door.options(&listen, &home, TOKEN)?;
    block_on(async {
        let mut signals = StopSignals::listen()?;
        let listener = DaemonListener::bind(options).await;
        let listener = listener.map_err(CommandFailure::not_started)?;
        let urls = listener.urls();
        place
            .announce(DaemonRecord::new(urls.clone()))
            .map_err(CommandFailure::not_started)?;
        for url in &urls {
            tell(&format!("listening on {url}"));
        }
        if arguments.tell_ready {
            print_raw("ready\n")?;
        }
        let recovery = wiring.here().settings.serve.serve.recovery();
        let pool = SessionPool::new(wiring.into_ground_with(recovery));
        let info = DaemonInfo {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            directory: home.path().join("serve"),
        };
        let daemon = Daemon::new(pool, info);
        take_up_cut_off(&daemon, recovery).await;
        serve(&daemon, listener, arguments.idle_exit, &mut signals).await
    })
}

/// Serves until a signal, or until nobody is there for long enough. The first signal ends the
/// sessions in order, a second one everything at once.
async fn serve(
    daemon: &Daemon,
    listener: DaemonListener,
    idle_exit: Option<u64>,
    signals: &mut StopSignals,
) -> Outcome {
    let ending = CancellationToken::new();
    let mut serving = std::pin::pin!(listener.run(daemon, ending.clone()));
    let alone = async {
        match idle_exit {
            Some(seconds) => daemon.idle_for(Duration::from_secs(seconds)).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = &mut serving => {}
        () = alone => tell("nobody has asked for anything for a while; the daemon ends"),
        () = signals.next() => {}
    }
    let asked = signals.asked;
    let end = async {
        // Clients that are still there hear how their tasks end.
        let ended = async {
            daemon.end().await;
            ending.cancel();
        };
        tokio::join!(ended, serving);
    };
    tokio::select! {
        () = end => {}
        () = signals.next() => return Ok(CommandExit::Killed),
    }
    Ok(match asked {
        Some(ExitSignal::Terminate) => CommandExit::Terminated,
        Some(ExitSignal::Interrupt) | None => CommandExit::Success,
    })
}

/// Takes up what was cut off with the last daemon, if that is wanted. What cannot be is told, and stays
/// as it is.
async fn take_up_cut_off(daemon: &Daemon, recovery: Option<RecoveryPolicy>) {
    let taken = async {
        let before = daemon.served_before()?;
        match recovery {
            Some(_) => daemon.take_up(before).await,
            None => Ok(0),
        }
    };
    match taken.await {
        Ok(0) => {}
        Ok(sessions) => tell(&format!("{sessions} sessions go on that were cut off")),
        Err(problem) => tell(&format!(
            "warning: what was cut off does not go on: {}",
            problem.detail
        )),
    }
}

fn take_place(home: &TroupeHome) -> Result<DaemonPlace, CommandFailure> {
    match DaemonPlace::take(home) {
        Ok(place) => Ok(place),
        Err(PlaceTaken::Failed(error)) => Err(CommandFailure::not_started(error)),
        Err(PlaceTaken::By(record)) => {
            let place = record.map_or_else(
                || "it is only starting".to_owned(),
                |record| {
                    format!(
                        "it is process {}, at {}",
                        record.pid,
                        record.urls.join(" and ")
                    )
                },
            );
            Err(CommandFailure::not_started(anyhow::Error::msg(format!(
                "the daemon of this home runs already: {place}; `troupe serve stop` ends it"
            ))))
        }
    }
}

/// Returns where to listen: what was said, and the socket of the home.
fn addresses(listen: Vec<SessionAddress>, home: &TroupeHome) -> Vec<SessionAddress> {
    let mut addresses = listen;
    if addresses.is_empty() {
        let place = HostPort {
            host: "127.0.0.1".to_owned(),
            port: PORT,
        };
        addresses.push(SessionAddress::Net(NetProtocol::Http, place));
    }
    let socket = home.path().join("run").join(SOCKET);
    if socket.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        addresses.push(SessionAddress::Unix(socket));
    } else {
        tell(
            "warning: the path of the home is too long for a socket in it; use the network address",
        );
    }
    addresses
}

/// Starts this program again with the same arguments, and returns when it is ready.
fn start_in_background(home: &TroupeHome) -> Outcome {
    let program = std::env::current_exe().map_err(CommandFailure::not_started)?;
    let given = std::env::args_os().skip(1);
    let mut arguments: Vec<OsString> = given.filter(|given| given != "--background").collect();
    arguments.push("--tell-ready".into());
    let started = DetachedProcess::start(&program, &arguments, &here()?, &[]);
    let ready = started.and_then(DetachedProcess::ready);
    let ready = ready.context("the daemon cannot be started");
    match ready.map_err(CommandFailure::not_started)? {
        Ok(_) => match DaemonPlace::record(home).map_err(CommandFailure::not_started)? {
            Some(record) => {
                tell(&format!("the daemon runs as process {}", record.pid));
                for url in record.urls {
                    tell(&format!("listening on {url}"));
                }
                Ok(CommandExit::Success)
            }
            None => Err(CommandFailure::failed(anyhow::Error::msg(
                "the daemon ended right after it had begun",
            ))),
        },
        Err(DetachedEnd { error, .. }) => {
            let message = error.strip_prefix("troupe: ").unwrap_or(&error).to_owned();
            Err(CommandFailure::not_started(anyhow::Error::msg(message)))
        }
    }
}

fn status(json: bool) -> Outcome {
    let home = TroupeHome::find()?;
    let running = DaemonPlace::look(&home).map_err(CommandFailure::not_started)?;
    if json {
        let value = serde_json::json!({"running": running.is_some(), "daemon": running});
        print_raw(&format!("{value}\n"))?;
    } else {
        match &running {
            None => print("no daemon runs for this home; `troupe serve` starts one\n")?,
            Some(record) => {
                let urls = record.urls.join("\n  ");
                let (pid, version, since) = (record.pid, &record.version, &record.started_at);
                print(&format!(
                    "process {pid}, troupe {version}, since {since}\n  {urls}\n"
                ))?;
            }
        }
    }
    std::io::stdout().flush()?;
    Ok(match running {
        Some(_) => CommandExit::Success,
        None => CommandExit::Failed,
    })
}

fn stop() -> Outcome {
    let home = TroupeHome::find()?;
    let Some(record) = DaemonPlace::look(&home).map_err(CommandFailure::not_started)? else {
        tell("no daemon runs for this home");
        return Ok(CommandExit::Success);
    };
    place::terminate(&record).map_err(CommandFailure::failed)?;
    DaemonPlace::wait_until_free(&home).map_err(CommandFailure::failed)?;
    tell(&format!("the daemon has ended (process {})", record.pid));
    Ok(CommandExit::Success)
}
