//! Watchdogs: messages that come by themselves.

use super::{State, Supervisor};

impl Supervisor {
    /// Sends what is due. Nothing is sent to who is busy with an earlier one.
    pub(super) fn ping(&mut self) {
        if !matches!(self.state, State::Running) {
            return;
        }
        let now = self.now().0;
        for ping in self.watchdogs.due(now) {
            self.send_ping(ping.by, ping.target, ping.message);
        }
    }
}
