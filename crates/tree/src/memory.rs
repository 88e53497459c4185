//! The durable half of the tree: every agent that ever was, and the counters.

use std::collections::{BTreeMap, HashMap, HashSet};

use troupe_protocol::tree::TimeMs;
use troupe_protocol::{AgentId, SessionId};

use crate::agent::{AgentLiveness, AgentRecord};
use crate::fold::FoldError;
use crate::inbox::Inbox;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TreeMemory {
    /// Boxed: the map grows at its end, which leaves its nodes half empty.
    pub(crate) agents: BTreeMap<AgentId, Box<AgentRecord>>,
    pub(crate) paths: HashMap<String, AgentId>,
    pub(crate) sessions: HashMap<SessionId, AgentId>,
    /// Paths of agents that the history names and that are not in the tree.
    pub(crate) taken_paths: HashSet<String>,
    /// The number of the next child. Part of the memory, so that no number is given twice.
    pub(crate) next_agent: u32,
    pub(crate) next_order: u64,
}

impl TreeMemory {
    pub fn get(&self, agent: AgentId) -> Option<&AgentRecord> {
        self.agents.get(&agent).map(Box::as_ref)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &AgentRecord> {
        self.agents.values().map(Box::as_ref)
    }

    /// Returns the agent and all below it, each parent before its children.
    pub fn subtree(&self, top: AgentId) -> Vec<AgentId> {
        let mut found = Vec::new();
        let mut open = vec![top];
        while let Some(agent) = open.pop() {
            if let Some(node) = self.get(agent) {
                found.push(agent);
                open.extend(node.children.iter().rev());
            }
        }
        found
    }

    /// Returns everybody who is within `top`, each parent before its children: its subtree, and
    /// for the root the released and theirs too.
    pub fn within(&self, top: AgentId) -> Vec<AgentId> {
        let mut found = self.subtree(top);
        if top == AgentId::ROOT {
            let released = self
                .iter()
                .filter(|agent| agent.parent.is_none() && agent.id != AgentId::ROOT);
            for agent in released {
                found.extend(self.subtree(agent.id));
            }
        }
        found
    }

    /// Tells whether `above` is the agent itself or one of its ancestors. The root is above
    /// all, the released included.
    pub fn is_within(&self, agent: AgentId, above: AgentId) -> bool {
        let mut next = Some(agent);
        while let Some(current) = next {
            if current == above {
                return true;
            }
            next = self.get(current).and_then(|node| node.parent);
        }
        above == AgentId::ROOT
    }

    /// Tells whether at least so many were born after a moment. Numbers grow with time, so
    /// the oldest of the newest tells it.
    pub fn were_born_since(&self, moment: TimeMs, count: usize) -> bool {
        // The root was not born.
        if self.agents.len() <= count {
            return false;
        }
        let oldest = count
            .checked_sub(1)
            .and_then(|nth| self.iter().rev().nth(nth));
        oldest.is_none_or(|agent| agent.born_at > moment)
    }

    /// Takes an agent out of the live tree whose log is gone. What the tree knows of it was
    /// written by others, and says nothing of what it has done: to start it would do it again.
    /// Nobody is there to read what its inbox has.
    pub(crate) fn mark_lost(&mut self, agent: AgentId, since: TimeMs) {
        let node = self.agents.get_mut(&agent);
        if let Some(node) = node.filter(|node| node.place != AgentLiveness::Pruned) {
            node.place = AgentLiveness::Lost;
            node.inbox = Inbox::default();
            node.stop = None;
            node.since = since;
        }
    }

    /// Gives no number again up to this one.
    pub(crate) fn spend_numbers(&mut self, highest: Option<AgentId>) {
        if let Some(highest) = highest {
            self.next_agent = self.next_agent.max(highest.0.saturating_add(1));
        }
    }

    /// Tells whether an agent has, or had, a path: one of the tree, or one that the history
    /// names.
    pub(crate) fn is_taken(&self, path: &str) -> bool {
        self.paths.contains_key(path) || self.taken_paths.contains(path)
    }

    pub(crate) fn insert(&mut self, agent: AgentRecord) -> Result<(), FoldError> {
        let id = agent.id;
        let known = self.agents.contains_key(&id)
            || self.paths.contains_key(&agent.path)
            || self.sessions.contains_key(&agent.session);
        if known {
            return Err(FoldError::KnownAgent(id));
        }
        self.next_agent = self.next_agent.max(id.0.saturating_add(1));
        self.paths.insert(agent.path.clone(), id);
        self.sessions.insert(agent.session, id);
        self.agents.insert(id, Box::new(agent));
        Ok(())
    }
}
