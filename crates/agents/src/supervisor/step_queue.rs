//! The queue of steps to perform, in order. Lines are handed to their writers at once; nothing
//! behind them happens before they are on disk. So many logs are written side by side, and
//! nobody hears of what is not kept.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use troupe_engine::{PendingWrite, PendingWriteRef, WriteBatch};
use troupe_protocol::AgentId;
use troupe_tree::TreeEffect;

use super::Supervisor;
use super::fact_lines::UnwrittenLines;

/// The number of lines that are not on disk yet; a barrier in the step queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WriteTicket(u64);

#[derive(Debug, Default)]
pub(super) struct StepQueue {
    queue: VecDeque<SupervisorStep>,
    unwritten: BTreeSet<WriteTicket>,
    /// Kept until their receipt is there, to be given to somebody else if need be.
    on_the_way: BTreeMap<WriteTicket, UnwrittenLines>,
    /// The last pending write of each log that is not acknowledged yet. Those
    /// before it have been taken.
    sent: BTreeMap<AgentId, PendingWriteRef>,
    next_ticket: u64,
}

pub(super) enum SupervisorStep {
    /// Nothing behind this is done before these lines are on disk.
    Until(WriteTicket),
    Perform(TreeEffect),
    Answer(Box<dyn FnOnce(&mut Supervisor) + Send>),
}

impl fmt::Debug for SupervisorStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Until(ticket) => write!(f, "Until({ticket:?})"),
            Self::Perform(effect) => write!(f, "Perform({effect:?})"),
            Self::Answer(_) => f.write_str("Answer"),
        }
    }
}

impl StepQueue {
    pub(super) fn push(&mut self, step: SupervisorStep) {
        self.queue.push_back(step);
    }

    /// Makes a ticket for lines, and holds up everything that is pushed from now on.
    pub(super) fn until_written(&mut self) -> WriteTicket {
        let ticket = WriteTicket(self.next_ticket);
        self.next_ticket += 1;
        self.unwritten.insert(ticket);
        self.queue.push_back(SupervisorStep::Until(ticket));
        ticket
    }

    pub(super) fn on_the_way(&mut self, ticket: WriteTicket, unwritten: UnwrittenLines) {
        self.on_the_way.insert(ticket, unwritten);
    }

    /// Puts lines behind those that a log's session was sent and has not come to. Returns the
    /// pending write to send if there are none.
    pub(super) fn send(&mut self, log: AgentId, lines: WriteBatch) -> Option<PendingWrite> {
        let lines = match self.sent.get(&log) {
            Some(sent) => sent.add(lines).err()?,
            None => lines,
        };
        let parcel = PendingWrite::new(lines);
        self.sent.insert(log, parcel.tracking());
        Some(parcel)
    }

    /// Takes back what a log's session was sent and has not come to.
    pub(super) fn take_back(&mut self, log: AgentId) -> Option<WriteBatch> {
        self.sent.remove(&log)?.take_back()
    }

    /// Takes back lines whose receipt has come.
    pub(super) fn arrived(&mut self, ticket: WriteTicket) -> Option<UnwrittenLines> {
        let arrived = self.on_the_way.remove(&ticket)?;
        let sent = self.sent.get(&arrived.log);
        if sent.is_some_and(|sent| !sent.is_closed()) {
            self.sent.remove(&arrived.log);
        }
        Some(arrived)
    }

    pub(super) fn written(&mut self, ticket: WriteTicket) {
        self.unwritten.remove(&ticket);
    }

    /// Returns the next step if it may be done now.
    pub(super) fn next(&mut self) -> Option<SupervisorStep> {
        loop {
            match self.queue.front()? {
                SupervisorStep::Until(ticket) if self.unwritten.contains(ticket) => return None,
                SupervisorStep::Until(_) => {
                    self.queue.pop_front();
                }
                SupervisorStep::Perform(_) | SupervisorStep::Answer(_) => {
                    return self.queue.pop_front();
                }
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
