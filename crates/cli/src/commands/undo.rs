//! `troupe undo`: files as they were before a session's last turns.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use clap::Args;
use troupe_engine::preview_undo;
use troupe_protocol::session::SessionSource;
use troupe_protocol::undo::{UndoCompleted, UndoRequest};
use troupe_protocol::{EventMsg, Op, SessionId};
use troupe_store::{EmbeddedStore, SessionStore};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::stored_session_op::submit_and_wait;
use crate::commands::{block_on, print, tell};
use crate::exec::target::{last, last_directory, resolve};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here};
use crate::layers::ConfigSource;
use crate::wiring::Wiring;

#[derive(Debug, Args)]
#[command(
    after_help = "What patches changed is known exactly; what commands changed is seen in git repositories, except
for files that git ignores. All of it or nothing: files that are not as the session left them are
named, and nothing is touched (--partly: the others are taken back).
What is overwritten is kept: --redo takes the last undo back. The conversation stays as it is.

Exit codes: 0 something was taken back, or nothing had to be; 1 nothing could be.

Examples:
  troupe undo --dry-run            what the last turn here changed
  troupe undo                      take it back
  troupe undo 3f2a9c1e --turns 3
  troupe undo --redo"
)]
pub struct UndoArguments {
    /// The session: id, its first characters, or name; the last one of this directory if absent.
    session: Option<String>,
    /// How many turns that changed files.
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value_t = 1,
        conflicts_with = "redo"
    )]
    turns: u32,
    /// Only tell what would happen.
    #[arg(long)]
    dry_run: bool,
    /// Take back what can be, and leave the files that are not as the session left them.
    #[arg(long)]
    partly: bool,
    /// Take the last undo back.
    #[arg(long)]
    redo: bool,
    /// Print what happened as one JSON object.
    #[arg(long)]
    json: bool,
}

pub fn run(
    arguments: UndoArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let cwd = here()?;
    let source = ConfigSource {
        home: TroupeHome::find()?,
        overrides,
        layers,
        flags: Vec::new(),
    };
    let wiring = Wiring::new(source, &cwd, SessionSource::Cli)?;
    block_on(async {
        // A dry run leaves the home as it is, down to its index.
        let scratch = tempfile::tempdir().map_err(CommandFailure::not_started)?;
        let store = if arguments.dry_run {
            let store = EmbeddedStore::open_for_reading(wiring.home(), scratch.path());
            Arc::new(store.map_err(CommandFailure::not_started)?)
        } else {
            wiring.store()?
        };
        let session = match &arguments.session {
            Some(text) => resolve(store.as_ref(), text).await?,
            None => last(store.as_ref(), Some(&cwd)).await?,
        };
        let request = UndoRequest {
            num_turns: Some(arguments.turns).filter(|_| !arguments.redo),
            dry_run: arguments.dry_run,
            partly: arguments.partly,
            redo: arguments.redo,
        };
        let is_answer = |msg: &EventMsg| match msg {
            EventMsg::UndoCompleted(completed) => Some(completed.clone()),
            _ => None,
        };
        let completed = if arguments.dry_run {
            preview(&wiring, store.as_ref(), scratch.path(), session, &request).await?
        } else {
            submit_and_wait(wiring, session, Op::Undo(request), is_answer).await?
        };
        if arguments.json {
            let text = serde_json::to_string(&completed).map_err(CommandFailure::failed)?;
            print(&(text + "\n"))?;
        } else {
            print(&shown(&completed, &cwd))?;
            completed.message.iter().for_each(|text| tell(text));
        }
        Ok(if completed.success {
            CommandExit::Success
        } else {
            CommandExit::Failed
        })
    })
}

/// Opening a session would write to its log, also that its last task was cut off.
async fn preview(
    wiring: &Wiring,
    store: &dyn SessionStore,
    scratch: &Path,
    session: SessionId,
    request: &UndoRequest,
) -> Result<UndoCompleted, CommandFailure> {
    let live = store.read_live(session).await;
    let cwd = last_directory(&live.map_err(CommandFailure::not_started)?);
    let Some(keeper) = wiring.keeper(&cwd)? else {
        let why = anyhow!("what turns do to files is not kept in this session");
        return Err(CommandFailure::not_started(why));
    };
    let keeper = keeper.for_planning(scratch);
    let previewed = preview_undo(store, &keeper, session, &cwd, request).await;
    previewed.map_err(CommandFailure::not_started)
}

fn shown(completed: &UndoCompleted, cwd: &Path) -> String {
    let name = |path: &Path| path.strip_prefix(cwd).unwrap_or(path).display().to_string();
    let mut text = String::new();
    let (restored, removed) = if completed.dry_run {
        ("would restore", "would remove")
    } else {
        ("restored", "removed")
    };
    for path in &completed.restored {
        writeln!(text, "{restored} {}", name(path)).expect("a string takes any text");
    }
    for path in &completed.removed {
        writeln!(text, "{removed} {}", name(path)).expect("a string takes any text");
    }
    for conflict in &completed.conflicts {
        let path = name(&conflict.path);
        writeln!(text, "left {path}: {}", conflict.reason).expect("a string takes any text");
    }
    for note in &completed.notes {
        writeln!(text, "note: {note}").expect("a string takes any text");
    }
    text
}
