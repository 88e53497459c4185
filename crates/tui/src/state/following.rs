//! Whose conversations are told: those that something on the screen shows.

use std::collections::BTreeSet;

use troupe_protocol::AgentId;

use super::{AppState, PagerBody, ScreenOverlay};
use crate::session::TreeRequest;

impl ScreenOverlay {
    /// Returns the agent whose conversation it shows.
    fn follows(&self) -> Option<AgentId> {
        let agent = match self {
            Self::Agent(agent) | Self::Peek(agent) => *agent,
            Self::Pager(pager) => match &pager.body {
                PagerBody::Transcript(agent)
                | PagerBody::About(agent)
                | PagerBody::Changes(agent) => *agent,
                PagerBody::Question(_)
                | PagerBody::Text(_)
                | PagerBody::Markdown(_)
                | PagerBody::Diff(_)
                | PagerBody::Help
                | PagerBody::Status => return None,
            },
            Self::Agents(_)
            | Self::Questions(_)
            | Self::Stop(_)
            | Self::Spawn(_)
            | Self::Leaving
            | Self::Picker(_) => return None,
        };
        (agent != AgentId::ROOT).then_some(agent)
    }
}

impl AppState {
    /// Asks for what is shown now, and for nothing that is not: agents that nobody looks at send
    /// nothing.
    pub(super) fn follow_shown(&mut self) {
        let shown: BTreeSet<AgentId> = self
            .overlays
            .iter()
            .filter_map(ScreenOverlay::follows)
            .collect();
        if shown == self.followed {
            return;
        }
        let before = std::mem::replace(&mut self.followed, shown.clone());
        for agent in before.difference(&shown) {
            self.ask(TreeRequest::Unfollow(*agent));
        }
        for agent in shown.difference(&before) {
            // Its conversation is told from the beginning.
            self.agents.remove(agent);
            self.ask(TreeRequest::Follow(*agent));
        }
    }
}
