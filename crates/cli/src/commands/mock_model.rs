//! `troupe mock-model`: a screenplay, served as a model.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use troupe_mock_model::{MockServer, Screenplay};

use crate::commands::{block_on, print};
use crate::exec::signals::ExitSignals;
use crate::failure::{CommandExit, CommandFailure, Outcome};

#[derive(Debug, Args)]
#[command(
    after_help = "The server speaks the Responses API, Chat Completions and Anthropic Messages. Its base URL is
the first line on stdout; Ctrl-C ends it. The format of screenplays is in docs/screenplay.md.

Example:
  troupe mock-model rehearsal.toml --listen 127.0.0.1:4000
  OPENAI_API_KEY=none troupe exec -c openai_base_url=http://127.0.0.1:4000/v1 \"…\""
)]
pub struct MockModelArguments {
    /// The screenplay, a TOML file.
    screenplay: PathBuf,
    /// Where to listen; port 0 takes any free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
}

pub fn run(arguments: MockModelArguments) -> Outcome {
    let path = &arguments.screenplay;
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read {}", path.display()))
        .map_err(CommandFailure::not_started)?;
    let screenplay: Screenplay = text
        .parse()
        .map_err(|error| CommandFailure::usage(format!("{}: {error}", path.display())))?;
    block_on(async {
        let mut stop = ExitSignals::listen()?;
        let server = MockServer::start(screenplay, arguments.listen)
            .await
            .with_context(|| format!("cannot listen on {}", arguments.listen))
            .map_err(CommandFailure::not_started)?;
        print(&format!("{}\n", server.base_url()))?;
        stop.next().await;
        server.shutdown().await?;
        Ok(CommandExit::Success)
    })
}
