//! `troupe proto`: the queue pair itself, as lines of JSON or over a socket.

mod listening;

use std::sync::Arc;

use clap::Args;
use tracing::Instrument as _;
use troupe_engine::spawn;
use troupe_protocol::session::SessionSource;
use troupe_server::pipe;
use troupe_transport::SessionAddress;

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::block_on;
use crate::control;
use crate::diagnostics;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here};
use crate::layers::ConfigSource;
use crate::wiring::{RootDeps, Wiring};
use listening::ListenArguments;

#[derive(Debug, Args)]
#[command(
    after_help = "The first submission must be configure_session. On standard input and output, at the end of
input the session does what it was asked, refuses what it would have to ask, and ends.

With --listen any number of clients share the session: one drives, the others follow. It ends
by a shutdown of the driver's, or by Ctrl-C. docs/wire.md has the messages.

Examples:
  printf '%s\\n' '{\"id\":\"1\",\"op\":{\"type\":\"configure_session\"}}' \\
                '{\"id\":\"2\",\"op\":{\"type\":\"user_input\",\"items\":[{\"type\":\"text\",\"text\":\"hi\"}]}}' \\
    | troupe proto

  troupe proto --listen unix:/tmp/t.sock --listen http:127.0.0.1:7000
  curl -N -H \"Authorization: Bearer $(cat ~/.troupe/run/proto.token)\" \\
    --http2-prior-knowledge 'http://127.0.0.1:7000/v1/events'"
)]
pub struct ProtoArguments {
    #[command(flatten)]
    listen: ListenArguments,
    #[command(flatten)]
    overrides: ConfigOverrides,
}

pub fn run(
    arguments: ProtoArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let cwd = here()?;
    let source = ConfigSource {
        home: TroupeHome::find()?,
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    let home = source.home.clone();
    let listen = arguments.listen;
    listen.check()?;
    let wiring = Wiring::new(source, &cwd, SessionSource::Cli)?;
    block_on(async {
        let server = match listen.addresses() {
            [] | [SessionAddress::Stdio] => None,
            _ => Some(listen.bind(&home).await?),
        };
        let RootDeps { deps, configurator } = Arc::new(wiring).with_agents(None);
        let (handle, events) = spawn(deps);
        let _control = control::serve(&configurator, home.path(), Some(events.tap()));
        if let Some(listening) = server {
            return listening.serve(handle, events).await;
        }
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let served = pipe::serve(handle, events, input, output)
            .instrument(diagnostics::stdio_connection())
            .await;
        served.map_err(CommandFailure::failed)?;
        Ok(CommandExit::Success)
    })
}
