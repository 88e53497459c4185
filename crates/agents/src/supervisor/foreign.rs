//! A fork begins with a conversation that may name agents of the tree it was forked from. They
//! are not in the fork's own tree: its numbers go on above theirs, so that no message meant for
//! one of them reaches another, and its model is told who is out of reach.

use std::fmt::Write as _;

use troupe_protocol::tree::{TreeFact, TreeRecord};
use troupe_protocol::{AgentId, SessionId};
use troupe_store::SessionStore;
use troupe_tree::TakenNames;

use super::fact_lines::FactContents;
use super::{Supervisor, restore};
use crate::limits::{FOREIGN_AGENTS_TOLD_MAX, FORKS_FOLLOWED_MAX};

const OUT_OF_REACH: &str = "This conversation was forked from another one. These agents, which it \
    names, belong to that one and are not in your tree: you cannot write to them, wait for them or \
    stop them, and you will hear nothing of them. Agents that you make have other numbers.";

/// Agents of the trees that a fork comes from.
#[derive(Debug, Default)]
struct ForeignAgents {
    taken: TakenNames,
    /// Each with its number, path and session, the ones of the nearest tree first.
    named: Vec<(AgentId, String, SessionId)>,
}

impl Supervisor {
    /// Begins a tree whose agents are called otherwise than those that the history names.
    pub(super) async fn plant_fork(&mut self) {
        let taken = self.look_for_foreign_agents().await;
        let at = self.now();
        let effects = self.tree.plant_beside(self.root.session, taken, at);
        self.perform(effects, FactContents::default());
    }

    /// Finds the agents that the root's history may name and its tree does not have. Its model
    /// is told of them when its next task begins.
    pub(super) async fn look_for_foreign_agents(&mut self) -> TakenNames {
        let (Some(source), Some(store)) = (self.root.forked_from, self.shared.store()) else {
            return TakenNames::default();
        };
        let foreign = ForeignAgents::find(&*store, source).await;
        self.news.note_foreign(foreign.unreachable_agents_text());
        foreign.taken
    }
}

impl ForeignAgents {
    async fn find(store: &dyn SessionStore, source: SessionId) -> Self {
        let mut found = Self::default();
        let mut next = Some(source);
        for _ in 0..FORKS_FOLLOWED_MAX {
            let Some(session) = next else { break };
            // A log that is gone names nobody; what its forks knew of it stands in theirs.
            let root = match store.tree_of(session).await {
                Ok(Some(place)) => place.root,
                Ok(None) | Err(_) => session,
            };
            let story = restore::read(store, root).await;
            found.take(&story.facts.records);
            let live = store.read_live(root).await.ok();
            next = live.and_then(|live| live.meta.forked_from_id);
        }
        found
    }

    fn take(&mut self, records: &[TreeRecord]) {
        for record in records {
            match &record.fact {
                TreeFact::Born(birth) => {
                    self.taken.highest = self.taken.highest.max(Some(birth.agent));
                    if is_below_root(&birth.path) {
                        self.taken.paths.push(birth.path.clone());
                    }
                    self.named
                        .push((birth.agent, birth.path.clone(), birth.session));
                }
                TreeFact::Rooted {
                    above, taken_paths, ..
                } => {
                    self.taken.highest = self.taken.highest.max(*above);
                    self.taken.paths.extend(taken_paths.iter().cloned());
                }
                _ => {}
            }
        }
    }

    fn unreachable_agents_text(&self) -> Option<String> {
        let mut text = OUT_OF_REACH.to_owned() + "\n";
        for (agent, path, session) in self.named.iter().take(FOREIGN_AGENTS_TOLD_MAX) {
            let session = session.short();
            writeln!(text, "- {path} (agent {agent}, session {session})")
                .expect("writing to a string does not fail");
        }
        if let Some(rest) = self.named.len().checked_sub(FOREIGN_AGENTS_TOLD_MAX)
            && rest > 0
        {
            writeln!(text, "- and {rest} more").expect("writing to a string does not fail");
        }
        (!self.named.is_empty()).then_some(text)
    }
}

/// Tells whether a path is that of a child of the root.
fn is_below_root(path: &str) -> bool {
    path.matches('/').count() == 2
}
