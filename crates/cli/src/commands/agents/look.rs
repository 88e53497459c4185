//! `troupe agents tree`: who is there and how they stand.

use std::io;
use std::time::Duration;

use serde::Serialize;
use troupe_protocol::{AgentId, SessionId};

use super::chronicle::{Chronicle, Served};
use super::follow::Follower;
use super::screen::Screen;
use super::{Desk, address, draw};
use crate::commands::{print, tell};
use crate::control::{Answer, Request, Row, client};
use crate::failure::{Exit, Failure, Outcome};
use crate::limits::FOLLOW_INTERVAL_MS;
use crate::style::{ColorChoice, Style};

/// A tree at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seen {
    pub root: SessionId,
    pub cwd: std::path::PathBuf,
    /// Whether a process runs the tree.
    pub running: bool,
    pub agents: Vec<Row>,
}

/// Looks at a tree: as its process tells it, else as its logs do.
pub async fn look(desk: &Desk, tree: &Chronicle) -> Seen {
    let answer = client::ask(desk.home.path(), tree.root, &Request::Look).await;
    let (running, agents) = match answer {
        Ok(Some(Answer::Agents { agents })) => (true, agents),
        // It is ending, or it is another version; the logs are there all the same.
        Ok(Some(_)) => (true, tree.rows(Served::Yes)),
        Ok(None) => (false, tree.rows(Served::No)),
        Err(error) => {
            tell(&format!("warning: {error:#}; this is what the logs say"));
            (true, tree.rows(Served::Yes))
        }
    };
    Seen {
        root: tree.root,
        cwd: tree.meta.cwd.clone(),
        running,
        agents,
    }
}

pub async fn tree(desk: &Desk, address: Option<&str>, watch: bool, json: bool) -> Outcome {
    let Some(mut target) = address::find_or_none(desk, address).await? else {
        tell(&address::nothing_yet(desk));
        return Ok(Exit::Success);
    };
    let shown = if json { Form::Json } else { Form::people() };
    let seen = look(desk, &target.tree).await;
    if !watch {
        print(&shown.of(&seen, target.agent)?)?;
        return Ok(Exit::Success);
    }
    let mut screen = match shown {
        Form::Json => Screen::Lines,
        Form::People(_) => Screen::of_stdout(),
    };
    screen.show(&shown.of(&seen, target.agent)?)?;
    let mut last = seen;
    let mut follower = Follower::every(Duration::from_millis(FOLLOW_INTERVAL_MS));
    while follower.goes_on(desk, &mut target.tree).await? {
        let seen = look(desk, &target.tree).await;
        // On a screen time passes too; lines tell only what is new.
        if seen != last || screen.is_redrawn() {
            screen.show(&shown.of(&seen, target.agent)?)?;
        }
        last = seen;
    }
    Ok(Exit::Success)
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Json,
    People(Style),
}

impl Form {
    fn people() -> Self {
        Self::People(Style::choose(ColorChoice::Auto, &io::stdout()))
    }

    fn of(self, seen: &Seen, top: AgentId) -> Result<String, Failure> {
        match self {
            Self::Json => {
                let object = serde_json::to_string(seen).map_err(Failure::failed)?;
                Ok(object + "\n")
            }
            Self::People(style) => {
                let standing = if seen.running {
                    "running"
                } else {
                    "no process runs it"
                };
                let head = format!(
                    "session {} in {} ({standing})",
                    seen.root.short(),
                    seen.cwd.display()
                );
                let now = jiff::Timestamp::now().as_millisecond();
                let tree = draw::tree(&seen.agents, top, now, style);
                Ok(format!("{}\n{tree}", style.dim(&head)))
            }
        }
    }
}
