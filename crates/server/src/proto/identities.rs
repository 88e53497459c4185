//! Whose name is whose. Everybody is told the names of the driver and of those in line; who
//! comes back under one shows the secret that only its holder was given. Pure.

use std::collections::VecDeque;

use troupe_protocol::ClientId;
use troupe_protocol::link::{Secret, SecretDigest};

use crate::limits::IDENTITIES_MAX;
use crate::token::AccessToken;

#[derive(Debug, Default)]
pub(super) struct ClientIdentities {
    /// The one that came last is at the end.
    known: VecDeque<(ClientId, AccessToken)>,
}

/// The name belongs to another client.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NameTaken;

impl ClientIdentities {
    /// Tells whether who shows this secret is the client of that name.
    pub(super) fn is(&self, client: &ClientId, shown: Option<&Secret>) -> bool {
        let own = self.secret(client);
        own.zip(shown).is_some_and(|(own, shown)| own.is(&shown.0))
    }

    /// Takes a client in under a name, and returns its secret. A name that nobody has becomes that
    /// of who comes first, with the secret that it shows: it may have it of an earlier server.
    pub(super) fn admit(
        &mut self,
        client: &ClientId,
        shown: Option<Secret>,
        is_present: impl Fn(&ClientId) -> bool,
    ) -> Result<Secret, NameTaken> {
        let secret = match self.secret(client) {
            Some(_) if !self.is(client, shown.as_ref()) => return Err(NameTaken),
            Some(own) => own.clone(),
            None => shown.map_or_else(AccessToken::random, AccessToken::of),
        };
        self.known.retain(|(known, _)| known != client);
        if self.known.len() >= IDENTITIES_MAX
            && let Some(gone) = self.known.iter().position(|(known, _)| !is_present(known))
        {
            self.known.remove(gone);
        }
        self.known.push_back((client.clone(), secret.clone()));
        Ok(secret.to_secret())
    }

    /// Returns what is kept of a client's secret.
    pub(super) fn digest(&self, client: &ClientId) -> Option<SecretDigest> {
        Some(self.secret(client)?.digest(client.as_str()))
    }

    fn secret(&self, client: &ClientId) -> Option<&AccessToken> {
        let mut known = self.known.iter();
        let entry = known.find(|(known, _)| known == client)?;
        Some(&entry.1)
    }
}

#[cfg(test)]
mod tests;
