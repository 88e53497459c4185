//! `troupe app-server`: many threads for clients that speak JSON-RPC.

mod generate;

use std::env;
use std::str::FromStr;
use std::sync::Arc;

use clap::Args;
use tokio_util::sync::CancellationToken;
use troupe_protocol::session::SessionSource;
use troupe_server::House;
use troupe_server::app::App;

use crate::arguments::{Layers, Overrides};
use crate::commands::block_on;
use crate::exec::signals::{StopRequest, StopRequests};
use crate::failure::{Exit, Failure, Outcome};
use crate::home::Home;
use crate::layers::ConfigSource;
use crate::wiring::Wiring;
use generate::Generate;

#[derive(Debug, Args)]
#[command(
    after_help = "Editors and scripts start it and speak JSON-RPC with it, one message per line: initialize,
thread/start, turn/start, and so on (docs/app-server.md). At the end of input its threads end in
order; they can be resumed.

Example:
  printf '%s\\n' '{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientInfo\":{\"name\":\"me\",\"version\":\"1\"}}}' \\
    | troupe app-server"
)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AppServerArguments {
    /// Where clients reach the server: stdio://
    #[arg(long, value_name = "URL", default_value = "stdio://")]
    listen: Listen,
    #[command(flatten)]
    overrides: Overrides,
    #[command(subcommand)]
    generate: Option<Generate>,
}

/// Where an app-server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listen {
    Stdio,
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "stdio://" | "stdio" => Ok(Self::Stdio),
            other => Err(format!("{other} is not a place to listen; use stdio://")),
        }
    }
}

pub fn run(arguments: AppServerArguments, overrides: Overrides, layers: Layers) -> Outcome {
    if let Some(generate) = arguments.generate {
        return generate.run();
    }
    let cwd = env::current_dir().map_err(Failure::not_started)?;
    let source = ConfigSource {
        home: Home::find()?,
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    let home = source.home.path().to_owned();
    let wiring = Wiring::new(source, &cwd, SessionSource::AppServer)?;
    let Listen::Stdio = arguments.listen;
    block_on(async {
        let mut stops = StopRequests::listen().map_err(Failure::not_started)?;
        let ground = wiring.into_ground();
        let app = App::new(House::new(Arc::clone(&ground) as _), ground, home);
        let ending = CancellationToken::new();
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let serve = async {
            let served = app.serve_lines(input, output, ending.clone()).await;
            app.end().await;
            served
        };
        let mut serve = std::pin::pin!(serve);
        let (served, exit) = tokio::select! {
            served = &mut serve => (served, Exit::Success),
            stop = stops.next() => {
                ending.cancel();
                let exit = match stop {
                    StopRequest::Interrupt => Exit::Success,
                    StopRequest::Terminate => Exit::Terminated,
                };
                tokio::select! {
                    served = &mut serve => (served, exit),
                    // Somebody does not want to wait.
                    _ = stops.next() => return Ok(Exit::Killed),
                }
            }
        };
        served.map_err(Failure::failed)?;
        Ok(exit)
    })
}
