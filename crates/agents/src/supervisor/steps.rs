//! The queue of steps to perform, in order. Lines are handed to their writers at once; nothing
//! behind them happens before they are on disk. So many logs are written side by side, and
//! nobody hears of what is not kept.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use troupe_engine::{Lines, Parcel, Tracking};
use troupe_protocol::AgentId;

use super::Supervisor;
use super::lines::Unwritten;
use crate::tree::Effect;

/// The number of lines that are not on disk yet; a barrier in the step queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

#[derive(Debug, Default)]
pub(super) struct Steps {
    queue: VecDeque<Step>,
    unwritten: BTreeSet<Ticket>,
    /// Kept until their receipt is there, to be given to somebody else if need be.
    on_the_way: BTreeMap<Ticket, Unwritten>,
    /// The last pending write of each log that is not acknowledged yet. Those
    /// before it have been taken.
    sent: BTreeMap<AgentId, Tracking>,
    next_ticket: u64,
}

pub(super) enum Step {
    /// Nothing behind this is done before these lines are on disk.
    Until(Ticket),
    Perform(Effect),
    Answer(Box<dyn FnOnce(&mut Supervisor) + Send>),
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Until(ticket) => write!(f, "Until({ticket:?})"),
            Self::Perform(effect) => write!(f, "Perform({effect:?})"),
            Self::Answer(_) => f.write_str("Answer"),
        }
    }
}

impl Steps {
    pub(super) fn push(&mut self, step: Step) {
        self.queue.push_back(step);
    }

    /// Makes a ticket for lines, and holds up everything that is pushed from now on.
    pub(super) fn until_written(&mut self) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.unwritten.insert(ticket);
        self.queue.push_back(Step::Until(ticket));
        ticket
    }

    pub(super) fn on_the_way(&mut self, ticket: Ticket, unwritten: Unwritten) {
        self.on_the_way.insert(ticket, unwritten);
    }

    /// Puts lines behind those that a log's session was sent and has not come to. Returns the
    /// pending write to send if there are none.
    pub(super) fn send(&mut self, log: AgentId, lines: Lines) -> Option<Parcel> {
        let lines = match self.sent.get(&log) {
            Some(sent) => sent.add(lines).err()?,
            None => lines,
        };
        let parcel = Parcel::new(lines);
        self.sent.insert(log, parcel.tracking());
        Some(parcel)
    }

    /// Takes back what a log's session was sent and has not come to.
    pub(super) fn take_back(&mut self, log: AgentId) -> Option<Lines> {
        self.sent.remove(&log)?.take_back()
    }

    /// Takes back lines whose receipt has come.
    pub(super) fn arrived(&mut self, ticket: Ticket) -> Option<Unwritten> {
        let arrived = self.on_the_way.remove(&ticket)?;
        let sent = self.sent.get(&arrived.log);
        if sent.is_some_and(|sent| !sent.is_closed()) {
            self.sent.remove(&arrived.log);
        }
        Some(arrived)
    }

    pub(super) fn written(&mut self, ticket: Ticket) {
        self.unwritten.remove(&ticket);
    }

    /// Returns the next step if it may be done now.
    pub(super) fn next(&mut self) -> Option<Step> {
        loop {
            match self.queue.front()? {
                Step::Until(ticket) if self.unwritten.contains(ticket) => return None,
                Step::Until(_) => {
                    self.queue.pop_front();
                }
                Step::Perform(_) | Step::Answer(_) => return self.queue.pop_front(),
            }
        }
    }

    /// Forgets everything. Whoever waits for an answer learns that there will be none.
    pub(super) fn clear(&mut self) {
        self.queue.clear();
        self.unwritten.clear();
        self.on_the_way.clear();
        self.sent.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}
