//! Which sessions are in memory, and which of them goes first when there are too many.

use std::collections::BTreeMap;

use troupe_protocol::AgentId;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResidentSessions {
    /// Each with the tick of its last use.
    used: BTreeMap<AgentId, u64>,
    tick: u64,
}

/// Whether the session was in memory already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionResidency {
    Resident,
    Absent,
}

impl ResidentSessions {
    /// Notes a use, and returns whether the session must be loaded for it.
    pub fn touch(&mut self, agent: AgentId) -> SessionResidency {
        self.tick += 1;
        match self.used.insert(agent, self.tick) {
            Some(_) => SessionResidency::Resident,
            None => SessionResidency::Absent,
        }
    }

    pub fn remove(&mut self, agent: AgentId) -> SessionResidency {
        match self.used.remove(&agent) {
            Some(_) => SessionResidency::Resident,
            None => SessionResidency::Absent,
        }
    }

    pub fn contains(&self, agent: AgentId) -> bool {
        self.used.contains_key(&agent)
    }

    pub fn len(&self) -> usize {
        self.used.len()
    }

    /// Takes out the one that was not used for longest among those that may go.
    pub fn evict(&mut self, may_go: impl Fn(AgentId) -> bool) -> Option<AgentId> {
        let (agent, _) = self
            .used
            .iter()
            .filter(|(agent, _)| may_go(**agent))
            .min_by_key(|(_, tick)| **tick)?;
        let agent = *agent;
        self.used.remove(&agent);
        Some(agent)
    }
}
