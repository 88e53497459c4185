//! Run slots: a bounded number of them, and two queues in front (a semaphore with priorities).
//!
//! Agents that gave their slot back while they waited come in ahead of those that have not
//! begun. Otherwise parents that wait for children, and children that wait for a slot,
//! could hold each other up.

use std::collections::{BTreeSet, VecDeque};

use troupe_protocol::AgentId;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunSlots {
    max: usize,
    held: BTreeSet<AgentId>,
    returning: SlotQueue,
    starting: SlotQueue,
}

/// Agents in the order in which they came. Most agents that are asked for stand in no line,
/// which must not take a look at all who do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SlotQueue {
    queue: VecDeque<AgentId>,
    members: BTreeSet<AgentId>,
}

/// A slot given to the next in line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotGrant {
    /// Goes on with its task.
    Return(AgentId),
    /// Begins a task.
    Start(AgentId),
}

impl RunSlots {
    pub fn new(max: usize) -> Self {
        Self {
            max,
            ..Self::default()
        }
    }

    /// Has another number of slots from now on. Those that are held stay.
    pub fn resize(&mut self, max: usize) {
        self.max = max;
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
        self.starting.join(agent);
    }

    /// Lines up an agent that wants its slot back.
    pub fn come_back(&mut self, agent: AgentId) {
        self.returning.join(agent);
    }

    /// Takes an agent out, whatever it holds or waits for.
    pub fn leave(&mut self, agent: AgentId) {
        self.held.remove(&agent);
        self.returning.leave(agent);
        self.starting.leave(agent);
    }

    /// Gives one free slot to the next in line.
    pub fn grant(&mut self) -> Option<SlotGrant> {
        if self.held.len() >= self.max {
            return None;
        }
        let grant = match self.returning.next() {
            Some(agent) => SlotGrant::Return(agent),
            None => SlotGrant::Start(self.starting.next()?),
        };
        let (SlotGrant::Return(agent) | SlotGrant::Start(agent)) = grant;
        self.held.insert(agent);
        Some(grant)
    }

    /// Returns how many grants away an agent is from its start; 1 is next.
    pub fn position(&self, agent: AgentId) -> Option<usize> {
        let ahead = self.starting.ahead_of(agent)?;
        Some(self.returning.len() + ahead + 1)
    }

    /// Tells whether nobody runs and nobody waits.
    pub fn is_idle(&self) -> bool {
        self.held.is_empty() && self.returning.is_empty() && self.starting.is_empty()
    }

    /// Tells whether an agent waits in either line.
    pub fn is_in_line(&self, agent: AgentId) -> bool {
        self.returning.has(agent) || self.starting.has(agent)
    }
}

impl SlotQueue {
    /// Puts an agent at the end, unless it has a place.
    fn join(&mut self, agent: AgentId) {
        if self.members.insert(agent) {
            self.queue.push_back(agent);
        }
    }

    fn leave(&mut self, agent: AgentId) {
        if self.members.remove(&agent) {
            self.queue.retain(|other| *other != agent);
        }
    }

    fn next(&mut self) -> Option<AgentId> {
        let agent = self.queue.pop_front()?;
        self.members.remove(&agent);
        Some(agent)
    }

    fn ahead_of(&self, agent: AgentId) -> Option<usize> {
        let place = || self.queue.iter().position(|other| *other == agent);
        self.has(agent).then(place)?
    }

    fn has(&self, agent: AgentId) -> bool {
        self.members.contains(&agent)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
