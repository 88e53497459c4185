//! `troupe acp`: an agent for editors that speak the Agent Client Protocol.

use clap::Args;
use tracing::Instrument as _;
use troupe_acp::agent::{self, About};
use troupe_protocol::session::SessionSource;
use troupe_server::House;

use crate::arguments::{Layers, Overrides};
use crate::commands::block_on;
use crate::diagnostics;
use crate::exec::signals::{StopRequest, StopRequests};
use crate::failure::{Exit, Failure, Outcome};
use crate::home::{Home, here};
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
    overrides: Overrides,
}

pub fn run(arguments: AcpArguments, overrides: Overrides, layers: Layers) -> Outcome {
    let cwd = here()?;
    let source = ConfigSource {
        home: Home::find()?,
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    let wiring = Wiring::new(source, &cwd, SessionSource::Acp)?;
    block_on(async {
        let mut requests = StopRequests::listen().map_err(Failure::not_started)?;
        let house = House::new(wiring.into_ground());
        let mut asked = None;
        let stop = async { asked = Some(requests.next().await) };
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let about = About {
            version: env!("CARGO_PKG_VERSION"),
        };
        agent::serve(house, about, input, output, stop)
            .instrument(diagnostics::stdio_connection())
            .await?;
        Ok(match asked {
            Some(StopRequest::Terminate) => Exit::Terminated,
            Some(StopRequest::Interrupt) | None => Exit::Success,
        })
    })
}
