//! Notifies subscribers of children whose sessions come into memory.

use tokio::sync::mpsc;
use troupe_engine::EventTap;
use troupe_protocol::AgentId;
use troupe_protocol::discard;

use super::Supervisor;
use super::member::SessionPresence;
use crate::limits::ARRIVALS_QUEUED_MAX;
use crate::tree_access::AgentView;

/// A child whose session is in memory.
#[derive(Debug, Clone)]
pub struct ChildArrival {
    /// How it stood when it came.
    pub view: AgentView,
    /// What it says. A session that leaves memory ends its streams; when it comes back it
    /// arrives again.
    pub events: EventTap,
}

/// The side of the listener.
#[derive(Debug)]
pub struct ChildArrivals(mpsc::Receiver<ChildArrival>);

impl ChildArrivals {
    /// Returns the next child that is in memory, those that were there first; `None` when the
    /// tree has ended, or when the listener was too slow. Safe to cancel.
    pub async fn next(&mut self) -> Option<ChildArrival> {
        self.0.recv().await
    }
}

/// Everybody who listens.
#[derive(Debug, Default)]
pub(super) struct ArrivalListeners(Vec<mpsc::Sender<ChildArrival>>);

impl ArrivalListeners {
    fn tell(&mut self, arrival: &ChildArrival) {
        self.0
            .retain(|listener| listener.try_send(arrival.clone()).is_ok());
    }
}

impl Supervisor {
    /// Takes a listener in; it begins with who is there.
    pub(super) fn listen(&mut self) -> ChildArrivals {
        let present: Vec<ChildArrival> = self
            .members
            .agents()
            .filter_map(|agent| self.arrival(agent))
            .collect();
        let (sender, receiver) = mpsc::channel(ARRIVALS_QUEUED_MAX.max(2 * present.len()));
        for arrival in present {
            // There is room for all of them.
            discard!(
                sender.try_send(arrival),
                "an arrival was dropped: its listener is gone or full"
            );
        }
        self.listeners.0.push(sender);
        ChildArrivals(receiver)
    }

    pub(super) fn arrived(&mut self, agent: AgentId) {
        if self.listeners.0.is_empty() {
            return;
        }
        if let Some(arrival) = self.arrival(agent) {
            self.listeners.tell(&arrival);
        }
    }

    fn arrival(&self, agent: AgentId) -> Option<ChildArrival> {
        match &self.members.get(agent)?.presence {
            SessionPresence::Present(present) => Some(ChildArrival {
                view: self.view(agent),
                events: present.open.as_ref()?.events.clone(),
            }),
            SessionPresence::Absent | SessionPresence::Loading(_) | SessionPresence::Leaving(_) => {
                None
            }
        }
    }
}
