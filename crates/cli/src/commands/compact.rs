//! `troupe compact`: a session's history becomes a summary, so that there is room again.

use std::io;

use clap::Args;
use troupe_store::{EmbeddedStore, SessionStore as _};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::block_on;
use crate::exec::request::{ExecOutput, ExecRequest, ExecTask, SessionChoice};
use crate::exec::run::run as run_request;
use crate::exec::target::{last, last_directory, resolve};
use crate::failure::{CommandFailure, Outcome};
use crate::home::{TroupeHome, here};
use crate::layers::ConfigSource;
use crate::style::{ColorChoice, TextStyle};

#[derive(Debug, Args)]
#[command(
    after_help = "The session's model writes the summary, and later turns begin with it. Nothing is lost from the
log: `troupe sessions export` has everything. A session that is nearly full does this by itself.

Examples:
  troupe compact              the last session of this directory
  troupe compact 3f2a9c1e"
)]
pub struct CompactArguments {
    /// The session: id, its first characters, or name; the last one of this directory if absent.
    session: Option<String>,
}

pub fn run(
    arguments: CompactArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let cwd = here()?;
    let home = TroupeHome::find()?;
    block_on(async {
        let store = EmbeddedStore::open(home.path()).map_err(CommandFailure::not_started)?;
        let session = match &arguments.session {
            Some(text) => resolve(&store, text).await?,
            None => last(&store, Some(&cwd)).await?,
        };
        let live = store.read_live(session).await;
        let worked_in = last_directory(&live.map_err(CommandFailure::not_started)?);
        drop(store);
        let source = ConfigSource {
            home,
            overrides,
            layers,
            flags: Vec::new(),
        };
        // The session stays where it works.
        let cwd = if worked_in.is_dir() { worked_in } else { cwd };
        let output = ExecOutput::Human(TextStyle::choose(ColorChoice::Auto, &io::stderr()));
        run_request(ExecRequest {
            continues: SessionChoice::Resume(session.to_string()),
            ..ExecRequest::new(source, cwd, ExecTask::Compact, output)
        })
        .await
    })
}
