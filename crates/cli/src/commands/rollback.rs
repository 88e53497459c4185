//! `troupe rollback`: a session's last turns are taken out of its history.

use clap::Args;
use troupe_protocol::session::SessionSource;
use troupe_protocol::{EventMsg, Op};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::stored_session_op::submit_and_wait;
use crate::commands::{block_on, print};
use crate::exec::target::{last, resolve};
use crate::failure::{CommandExit, Outcome};
use crate::home::{TroupeHome, here};
use crate::layers::ConfigSource;
use crate::wiring::Wiring;

#[derive(Debug, Args)]
#[command(
    after_help = "The model no longer knows of these turns; the log keeps them. Files stay as they are: `troupe undo`
brings those back.

Examples:
  troupe rollback             the last turn of the last session here
  troupe rollback 3f2a9c1e -n 3"
)]
pub struct RollbackArguments {
    /// The session: id, its first characters, or name; the last one of this directory if absent.
    session: Option<String>,
    /// How many turns.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
}

pub fn run(
    arguments: RollbackArguments,
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
        let store = wiring.store()?;
        let session = match &arguments.session {
            Some(text) => resolve(store.as_ref(), text).await?,
            None => last(store.as_ref(), Some(&cwd)).await?,
        };
        let op = Op::ThreadRollback {
            num_turns: arguments.turns,
        };
        let is_answer = |msg: &EventMsg| match msg {
            EventMsg::ThreadRolledBack { num_turns } => Some(*num_turns),
            _ => None,
        };
        let turns = submit_and_wait(wiring, session, op, is_answer).await?;
        let what = match turns {
            1 => "the last turn".to_owned(),
            turns => format!("the last {turns} turns"),
        };
        print(&format!(
            "{} no longer knows of {what}; files stay as they are (`troupe undo`)\n",
            session.short()
        ))?;
        Ok(CommandExit::Success)
    })
}
