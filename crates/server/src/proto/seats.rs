//! Who drives, and who would like to. Pure.

use std::collections::VecDeque;

use troupe_protocol::ClientId;
use troupe_protocol::link::{ClientRole, Seat};

/// One client drives at most. The others who want to stand in line.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct DriverSeats {
    driver: Option<ClientId>,
    asking: VecDeque<ClientId>,
}

impl DriverSeats {
    pub(super) fn driver(&self) -> Option<&ClientId> {
        self.driver.as_ref()
    }

    pub(super) fn drives(&self, client: &ClientId) -> bool {
        self.driver.as_ref() == Some(client)
    }

    /// Gives a client the seat, or a place in the line.
    pub(super) fn ask(&mut self, client: &ClientId) {
        if self.driver.is_none() {
            self.driver = Some(client.clone());
        } else if !self.drives(client) && !self.asking.contains(client) {
            self.asking.push_back(client.clone());
        }
    }

    /// Takes a client's seat, or its place in the line. The seat goes to the next in line.
    pub(super) fn release(&mut self, client: &ClientId) {
        if self.drives(client) {
            self.driver = self.asking.pop_front();
        } else {
            self.asking.retain(|asking| asking != client);
        }
    }

    pub(super) fn seen_by(&self, client: &ClientId) -> Seat {
        Seat {
            role: if self.drives(client) {
                ClientRole::Drive
            } else {
                ClientRole::Follow
            },
            driver: self.driver.clone(),
            asking: self.asking.iter().cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests;
