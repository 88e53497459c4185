//! Who may run: a bounded number of slots, and two queues in front of them.
//!
//! Agents that gave their slot back while they waited come in ahead of those that have not
//! begun. Otherwise parents that wait for children, and children that wait for a slot,
//! could hold each other up.

use std::collections::{BTreeSet, VecDeque};

use troupe_protocol::AgentId;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slots {
    max: usize,
    held: BTreeSet<AgentId>,
    returning: VecDeque<AgentId>,
    starting: VecDeque<AgentId>,
}

/// A slot given to the next in line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// Goes on with its task.
    Return(AgentId),
    /// Begins a task.
    Start(AgentId),
}

impl Slots {
    pub fn new(max: usize) -> Self {
        Self {
            max,
            ..Self::default()
        }
    }

    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Tells whether a newcomer would run at once.
    pub fn has_room(&self) -> bool {
        self.held.len() < self.max && self.returning.is_empty() && self.starting.is_empty()
    }

    /// Lines up an agent that wants to begin a task. Asking again keeps its place.
    pub fn line_up(&mut self, agent: AgentId) {
        if !self.starting.contains(&agent) {
            self.starting.push_back(agent);
        }
    }

    /// Lines up an agent that wants its slot back.
    pub fn come_back(&mut self, agent: AgentId) {
        if !self.returning.contains(&agent) {
            self.returning.push_back(agent);
        }
    }

    /// Takes an agent out, whatever it holds or waits for.
    pub fn leave(&mut self, agent: AgentId) {
        self.held.remove(&agent);
        self.returning.retain(|other| *other != agent);
        self.starting.retain(|other| *other != agent);
    }

    /// Gives one free slot to the next in line.
    pub fn grant(&mut self) -> Option<Grant> {
        if self.held.len() >= self.max {
            return None;
        }
        let grant = match self.returning.pop_front() {
            Some(agent) => Grant::Return(agent),
            None => Grant::Start(self.starting.pop_front()?),
        };
        let (Grant::Return(agent) | Grant::Start(agent)) = grant;
        self.held.insert(agent);
        Some(grant)
    }

    /// Returns how many grants away an agent is from its start; 1 is next.
    pub fn position(&self, agent: AgentId) -> Option<usize> {
        let ahead = self.starting.iter().position(|other| *other == agent)?;
        Some(self.returning.len() + ahead + 1)
    }

    /// Tells whether nobody runs and nobody waits.
    pub fn is_idle(&self) -> bool {
        self.held.is_empty() && self.returning.is_empty() && self.starting.is_empty()
    }

    /// Tells whether an agent waits in either line.
    pub fn is_in_line(&self, agent: AgentId) -> bool {
        self.returning.contains(&agent) || self.starting.contains(&agent)
    }
}
