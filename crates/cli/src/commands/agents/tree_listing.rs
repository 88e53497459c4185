//! `troupe agents tree`: who is there and how they stand.

use std::io;
use std::time::Duration;

use serde::Serialize;
use troupe_protocol::agent::AgentCard;
use troupe_protocol::{AgentId, SessionId};

use super::follow::TreeFollower;
use super::logged_tree::{LoggedTree, TreeLiveness};
use super::screen::RedrawnScreen;
use super::{CommandSite, OutputAudience, address, draw};
use crate::commands::{print, tell};
use crate::control::{ControlAnswer, ControlRequest, client};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::limits::FOLLOW_INTERVAL_MS;
use crate::style::{ColorChoice, TextStyle};

/// A tree at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TreeListing {
    pub root: SessionId,
    pub cwd: std::path::PathBuf,
    /// Whether a process runs the tree.
    pub running: bool,
    pub agents: Vec<AgentCard>,
}

/// What a listing does with agents of which only the result is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrunedAgents {
    Shown,
    Counted,
}

impl TreeListing {
    /// Leaves pruned agents out, unless one of them is what somebody asked for. Returns how many
    /// they were.
    fn leave_out(&mut self, pruned: PrunedAgents, top: AgentId) -> usize {
        let is_meant = |row: &AgentCard| row.agent_id == top && row.pruned;
        if pruned == PrunedAgents::Shown || self.agents.iter().any(is_meant) {
            return 0;
        }
        let before = self.agents.len();
        self.agents.retain(|row| !row.pruned);
        before - self.agents.len()
    }
}

/// Looks at a tree: as its process tells it, else as its logs do.
pub async fn look(site: &CommandSite, tree: &LoggedTree) -> TreeListing {
    let answer = client::ask(site.home.path(), tree.root, &ControlRequest::Look).await;
    let (running, agents) = match answer {
        Ok(Some(ControlAnswer::Agents { agents })) => (true, agents),
        // It is ending, or it is another version; the logs are there all the same.
        Ok(Some(_)) => (true, tree.rows(TreeLiveness::Yes)),
        Ok(None) => (false, tree.rows(TreeLiveness::No)),
        Err(error) => {
            tell(&format!("warning: {error:#}; this is what the logs say"));
            (true, tree.rows(TreeLiveness::Yes))
        }
    };
    TreeListing {
        root: tree.root,
        cwd: tree.meta.cwd.clone(),
        running,
        agents,
    }
}

/// Draws a tree once.
pub async fn tree(
    site: &CommandSite,
    address: Option<&str>,
    shown: OutputAudience,
    pruned: PrunedAgents,
) -> Outcome {
    let Some(target) = address::find_or_none(site, address).await? else {
        if shown == OutputAudience::Programs {
            print("{\"agents\":[]}\n")?;
        }
        tell(&address::nothing_yet(site));
        return Ok(CommandExit::Success);
    };
    let mut seen = look(site, &target.tree).await;
    let left_out = seen.leave_out(pruned, target.agent);
    let room = draw::DrawingSize::of_stdout(&RedrawnScreen::Lines, 0);
    print(&TreeFormat::of(shown).text(&seen, target.agent, room)?)?;
    if left_out > 0 && shown == OutputAudience::People {
        let were = if left_out == 1 {
            "agent was"
        } else {
            "agents were"
        };
        tell(&format!("{left_out} {were} pruned (--all shows them too)"));
    }
    Ok(CommandExit::Success)
}

/// Draws a tree again and again, until no process runs it.
pub async fn watch(
    site: &CommandSite,
    address: Option<&str>,
    shown: OutputAudience,
    pruned: PrunedAgents,
) -> Outcome {
    let mut target = address::find(site, address).await?;
    let form = TreeFormat::of(shown);
    let mut screen = match shown {
        OutputAudience::Programs => RedrawnScreen::Lines,
        OutputAudience::People => RedrawnScreen::of_stdout(),
    };
    let mut follower = TreeFollower::every(Duration::from_millis(FOLLOW_INTERVAL_MS));
    let mut last = None;
    loop {
        let mut seen = look(site, &target.tree).await;
        seen.leave_out(pruned, target.agent);
        // On a screen time passes too; lines tell only what is new.
        if screen.is_redrawn() || last.as_ref() != Some(&seen) {
            // The head, and where the cursor stands.
            let room = draw::DrawingSize::of_stdout(&screen, 2);
            screen.show(&form.text(&seen, target.agent, room)?)?;
        }
        last = Some(seen);
        if !follower.goes_on(site, &mut target.tree).await? {
            return Ok(CommandExit::Success);
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum TreeFormat {
    Json,
    People(TextStyle),
}

impl TreeFormat {
    fn of(shown: OutputAudience) -> Self {
        match shown {
            OutputAudience::Programs => Self::Json,
            OutputAudience::People => {
                Self::People(TextStyle::choose(ColorChoice::Auto, &io::stdout()))
            }
        }
    }

    fn text(
        self,
        seen: &TreeListing,
        top: AgentId,
        room: draw::DrawingSize,
    ) -> Result<String, CommandFailure> {
        match self {
            Self::Json => {
                let object = serde_json::to_string(seen).map_err(CommandFailure::failed)?;
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
