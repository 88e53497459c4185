//! Names and notes of stored sessions.

use troupe_protocol::session::SessionSource;
use troupe_protocol::{EventMsg, Op, SessionId};

use crate::arguments::{Layers, Overrides};
use crate::commands::one_op::ask;
use crate::commands::print;
use crate::failure::{Exit, Outcome};
use crate::home::{Home, here};
use crate::layers::ConfigSource;
use crate::wiring::Wiring;

pub async fn set(id: SessionId, op: Op, overrides: Overrides, layers: Layers) -> Outcome {
    let source = ConfigSource {
        home: Home::find()?,
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
    let text = ask(wiring, id, op, is_answer).await?;
    print(&match text {
        Some(text) => format!("{} is {text:?} now\n", id.short()),
        None => format!("{} has none now\n", id.short()),
    })?;
    Ok(Exit::Success)
}
