//! `troupe acp`: an agent for editors that speak the Agent Client Protocol.

use clap::Args;
use tracing::Instrument as _;
use troupe_acp::agent::{self, AgentIdentity};
use troupe_protocol::session::SessionSource;
use troupe_server::SessionPool;

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::block_on;
use crate::diagnostics;
use crate::exec::signals::{ExitSignal, ExitSignals};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here};
use crate::layers::ConfigSource;
use crate::wiring::Wiring;

#[derive(Debug, Args)]
#[command(
    after_help = "Messages are lines of JSON-RPC on standard input and output; an editor starts it and speaks to
it. It ends with its input, and by Ctrl-C. docs/acp.md tells how editors are set up.

Example, for Zed's settings.json:
  \"agent_servers\": { \"Troupe\": { \"command\": \"troupe\", \"args\": [\"acp\"] } }"
)]
pub struct AcpArguments {
    #[command(flatten)]
    overrides: ConfigOverrides,
}

pub fn run(arguments: AcpArguments, overrides: ConfigOverrides, layers: LayerSelection) -> Outcome {
    let cwd = here()?;
    let source = ConfigSource {
        home: TroupeHome::find()?,
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    let wiring = Wiring::new(source, &cwd, SessionSource::Acp)?;
    block_on(async {
        let mut requests = ExitSignals::listen().map_err(CommandFailure::not_started)?;
        let house = SessionPool::new(wiring.into_ground());
        let mut asked = None;
        let stop = async { asked = Some(requests.next().await) };
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let about = AgentIdentity {
            version: env!("CARGO_PKG_VERSION"),
        };
        agent::serve(house, about, input, output, stop)
            .instrument(diagnostics::stdio_connection())
            .await?;
        Ok(match asked {
            Some(ExitSignal::Terminate) => CommandExit::Terminated,
            Some(ExitSignal::Interrupt) | None => CommandExit::Success,
        })
    })
}
