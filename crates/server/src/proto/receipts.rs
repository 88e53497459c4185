//! Which submissions were already accepted, so that a client which lost its connection may
//! send again what it does not know to have arrived.

use std::collections::VecDeque;

use troupe_protocol::{ClientId, SubmissionId};

use crate::limits::{RECEIPTS_CLIENTS_MAX, RECEIPTS_MAX};

#[derive(Debug, Default)]
pub(super) struct SubmissionReceipts {
    /// The one that spoke last is at the end.
    clients: VecDeque<(ClientId, VecDeque<SubmissionId>)>,
}

impl SubmissionReceipts {
    pub(super) fn has(&self, client: &ClientId, id: &SubmissionId) -> bool {
        let clients = self.clients.iter();
        clients
            .filter(|(known, _)| known == client)
            .any(|(_, ids)| ids.contains(id))
    }

    pub(super) fn add(&mut self, client: &ClientId, id: SubmissionId) {
        let known = self.clients.iter().position(|(known, _)| known == client);
        let entry = known.and_then(|index| self.clients.remove(index));
        let (client, mut ids) = entry.unwrap_or_else(|| (client.clone(), VecDeque::new()));
        if ids.len() == RECEIPTS_MAX {
            ids.pop_front();
        }
        ids.push_back(id);
        if self.clients.len() == RECEIPTS_CLIENTS_MAX {
            self.clients.pop_front();
        }
        self.clients.push_back((client, ids));
    }
}
