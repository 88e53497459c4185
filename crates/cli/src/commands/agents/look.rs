//! `troupe agents tree`: who is there and how they stand.

use std::io;
use std::time::Duration;

use serde::Serialize;
use troupe_protocol::{AgentId, SessionId};

use super::chronicle::{Chronicle, Served};
use super::follow::Follower;
use super::screen::Screen;
use super::{Shown, Site, address, draw};
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
pub async fn look(site: &Site, tree: &Chronicle) -> Seen {
    let answer = client::ask(site.home.path(), tree.root, &Request::Look).await;
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

/// Draws a tree once.
pub async fn tree(site: &Site, address: Option<&str>, shown: Shown) -> Outcome {
    let Some(target) = address::find_or_none(site, address).await? else {
        if shown == Shown::Programs {
            print("{\"agents\":[]}\n")?;
        }
        tell(&address::nothing_yet(site));
        return Ok(Exit::Success);
    };
    let seen = look(site, &target.tree).await;
    let room = draw::Room::of_stdout(&Screen::Lines, 0);
    print(&Form::of(shown).text(&seen, target.agent, room)?)?;
    Ok(Exit::Success)
}

/// Draws a tree again and again, until no process runs it.
pub async fn watch(site: &Site, address: Option<&str>, shown: Shown) -> Outcome {
    let mut target = address::find(site, address).await?;
    let form = Form::of(shown);
    let mut screen = match shown {
        Shown::Programs => Screen::Lines,
        Shown::People => Screen::of_stdout(),
    };
    let mut follower = Follower::every(Duration::from_millis(FOLLOW_INTERVAL_MS));
    let mut last = None;
    loop {
        let seen = look(site, &target.tree).await;
        // On a screen time passes too; lines tell only what is new.
        if screen.is_redrawn() || last.as_ref() != Some(&seen) {
            // The head, and where the cursor stands.
            let room = draw::Room::of_stdout(&screen, 2);
            screen.show(&form.text(&seen, target.agent, room)?)?;
        }
        last = Some(seen);
        if !follower.goes_on(site, &mut target.tree).await? {
            return Ok(Exit::Success);
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Form {
    Json,
    People(Style),
}

impl Form {
    fn of(shown: Shown) -> Self {
        match shown {
            Shown::Programs => Self::Json,
            Shown::People => Self::People(Style::choose(ColorChoice::Auto, &io::stdout())),
        }
    }

    fn text(self, seen: &Seen, top: AgentId, room: draw::Room) -> Result<String, Failure> {
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
                let tree = draw::tree(&seen.agents, top, now, style, room);
                Ok(format!("{}\n{tree}", style.dim(&head)))
            }
        }
    }
}
