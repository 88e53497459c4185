//! Names and notes of stored sessions.

use troupe_protocol::session::SessionSource;
use troupe_protocol::{EventMsg, Op, SessionId};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::print;
use crate::commands::stored_session_op::submit_and_wait;
use crate::failure::{CommandExit, Outcome};
use crate::home::{TroupeHome, here};
use crate::layers::ConfigSource;
use crate::wiring::Wiring;

pub async fn set(
    id: SessionId,
    op: Op,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let source = ConfigSource {
        home: TroupeHome::find()?,
        overrides,
        layers,
        flags: Vec::new(),
    };
    let cwd = here()?;
    let wiring = Wiring::new(source, &cwd, SessionSource::Cli)?;
    let is_answer = |msg: &EventMsg| match msg {
        EventMsg::ThreadNameUpdated { thread_name: text }
        | EventMsg::ThreadNoteUpdated { thread_note: text } => Some(text.clone()),
        _ => None,
    };
    let text = submit_and_wait(wiring, id, op, is_answer).await?;
    print(&match text {
        Some(text) => format!("{} is {text:?} now\n", id.short()),
        None => format!("{} has none now\n", id.short()),
    })?;
    Ok(CommandExit::Success)
}
