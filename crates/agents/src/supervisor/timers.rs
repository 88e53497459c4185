//! Watchdogs: messages that come by themselves.

use troupe_protocol::AgentId;
use troupe_protocol::tree::{Caller, MailKind, Sender};

use super::{State, Supervisor};

impl Supervisor {
    /// Sends what is due, except to who has not read the last one yet.
    pub(super) fn ping(&mut self) {
        if !matches!(self.state, State::Running) {
            return;
        }
        let now = self.now().0;
        for ping in self.watchdogs.due(now) {
            if !self.has_unread_ping(ping.by, ping.target) {
                self.send_ping(ping.by, ping.target, ping.message);
            }
        }
    }

    fn has_unread_ping(&self, by: Caller, target: AgentId) -> bool {
        let from_same = |kind: &MailKind| match kind {
            MailKind::Interrupt { from } | MailKind::Regular { from } => {
                *from == Sender::Watchdog(by.log())
            }
            MailKind::Callback { .. } => false,
        };
        let node = self.tree.get(target);
        node.is_some_and(|node| node.inbox.iter().any(|mail| from_same(&mail.kind)))
    }
}
