//! `troupe sessions delete`: for good, and therefore not without being asked.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::Args;
use troupe_store::SessionStore;

use super::resolve;
use super::show::title;
use crate::commands::{print, tell};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::terminal::harmless;

#[derive(Debug, Args)]
pub(super) struct DeleteArguments {
    /// The session: id, its first characters, or name.
    session: String,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
}

pub(super) async fn run(store: &dyn SessionStore, arguments: DeleteArguments) -> Outcome {
    let id = resolve(store, &arguments.session).await?;
    if !arguments.yes {
        let live = store.read_live(id).await.map_err(CommandFailure::failed)?;
        let agents = store.tree(id).await.map_err(CommandFailure::failed)?.len();
        let below = match agents.saturating_sub(1) {
            0 => String::new(),
            1 => ", and the agent below it".to_owned(),
            below => format!(", and the {below} agents below it"),
        };
        let (since, cwd) = (&live.meta.timestamp, live.meta.cwd.display());
        let title = title(&live);
        let what = format!("“{title}”, session {id} of {since} in {cwd}{below}");
        if !is_agreed(&what)? {
            tell("nothing was deleted");
            return Ok(CommandExit::Success);
        }
    }
    let deleted = store.delete(id).await.map_err(CommandFailure::failed)?;
    for id in deleted {
        print(&format!("deleted {id}\n"))?;
    }
    Ok(CommandExit::Success)
}

/// Asks the person at the terminal. Where there is none, silence is no consent.
fn is_agreed(what: &str) -> Result<bool, CommandFailure> {
    if !io::stdin().is_terminal() {
        return Err(CommandFailure::usage(format!(
            "this would delete {what} for good; say so with --yes"
        )));
    }
    let mut terminal = io::stderr();
    write!(terminal, "delete {} for good? [y/N] ", harmless(what))?;
    terminal.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let answer = line.trim().to_ascii_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes"))
}
