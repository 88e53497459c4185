//! The places for connections of one server: a lobby for those who have not yet shown who they
//! are, and places for those who have.
//!
//! ```text
//!  accept ─► lobby: a deadline, a share per peer, the newest drives out the oldest
//!               └─ shows the token, or is the user ─► a place, until the connection ends
//! ```
//!
//! Nobody in the lobby is in the way of anybody who knows the token: who comes is always let
//! into the lobby, and whoever is there for longest leaves it first.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::limits::{STRANGERS_MAX, STRANGERS_PER_PEER_MAX};

/// Who is at the other end, as far as the kernel knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConnectionPeer {
    /// A process of this machine's user, at a Unix socket.
    User,
    /// A machine, or a network of IPv6, in which every machine has many addresses.
    Net(IpAddr),
}

impl ConnectionPeer {
    pub fn at(address: IpAddr) -> Self {
        Self::Net(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) & !u128::from(u64::MAX);
                IpAddr::V6(network.into())
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// The lobby and the places of one server.
#[derive(Debug, Clone)]
pub struct ConnectionPlaces {
    lobby: Arc<Mutex<Lobby>>,
    places: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Lobby {
    /// The one who is there for longest is first.
    strangers: VecDeque<UnprovenConnection>,
    next: u64,
}

#[derive(Debug)]
struct UnprovenConnection {
    number: u64,
    peer: ConnectionPeer,
    sent_away: CancellationToken,
}

/// How one connection stands; a clone is the same connection. The last one to be dropped gives
/// its place up.
#[derive(Debug, Clone)]
pub struct ConnectionEntry(Arc<ConnectionEntryState>);

#[derive(Debug)]
struct ConnectionEntryState {
    places: ConnectionPlaces,
    number: u64,
    deadline: Instant,
    sent_away: CancellationToken,
    admitted: CancellationToken,
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

/// Everybody who is in has shown the token, and there is no place left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("all places are taken; there may be one later")]
pub struct PlacesTaken;

impl ConnectionPlaces {
    pub fn new(count: usize) -> Self {
        Self {
            lobby: Arc::default(),
            places: Arc::new(Semaphore::new(count)),
        }
    }

    /// Lets a connection into the lobby, and sends somebody away if that is too many.
    pub fn enter(&self, peer: ConnectionPeer, time: Duration) -> ConnectionEntry {
        let sent_away = CancellationToken::new();
        let number = lock(&self.lobby).enter(peer, sent_away.clone());
        ConnectionEntry(Arc::new(ConnectionEntryState {
            places: self.clone(),
            number,
            deadline: Instant::now() + time,
            sent_away,
            admitted: CancellationToken::new(),
            place: Mutex::new(None),
        }))
    }
}

impl Lobby {
    fn enter(&mut self, peer: ConnectionPeer, sent_away: CancellationToken) -> u64 {
        self.next += 1;
        self.strangers.push_back(UnprovenConnection {
            number: self.next,
            peer,
            sent_away,
        });
        if self.count(peer) > STRANGERS_PER_PEER_MAX {
            self.send_away_oldest(peer);
        } else if self.strangers.len() > STRANGERS_MAX
            && let Some(peer) = self.most_frequent()
        {
            self.send_away_oldest(peer);
        }
        self.next
    }

    fn count(&self, peer: ConnectionPeer) -> usize {
        let same = self.strangers.iter().filter(|other| other.peer == peer);
        same.count()
    }

    fn most_frequent(&self) -> Option<ConnectionPeer> {
        let mut counts: HashMap<ConnectionPeer, usize> = HashMap::new();
        for stranger in &self.strangers {
            *counts.entry(stranger.peer).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        most.map(|(peer, _)| peer)
    }

    fn send_away_oldest(&mut self, peer: ConnectionPeer) {
        let oldest = self.strangers.iter().position(|other| other.peer == peer);
        if let Some(stranger) = oldest.and_then(|index| self.strangers.remove(index)) {
            stranger.sent_away.cancel();
        }
    }

    fn leave(&mut self, number: u64) {
        self.strangers.retain(|stranger| stranger.number != number);
    }
}

impl ConnectionEntry {
    /// Gives a connection its place, once it has shown who it is. It keeps the place.
    pub fn admit(&self) -> Result<(), PlacesTaken> {
        let mut place = lock(&self.0.place);
        if place.is_none() {
            let free = Arc::clone(&self.0.places.places).try_acquire_owned();
            *place = Some(free.map_err(|_| PlacesTaken)?);
            lock(&self.0.places.lobby).leave(self.0.number);
            self.0.admitted.cancel();
        }
        Ok(())
    }

    /// Returns when the connection has to go: it was in the lobby for too long, or others came.
    /// Never for one that was admitted. Safe to cancel.
    pub async fn over(&self) {
        let entry = &self.0;
        tokio::select! {
            biased;
            () = entry.admitted.cancelled() => std::future::pending().await,
            () = entry.sent_away.cancelled() => {}
            () = sleep_until(entry.deadline) => {}
        }
    }
}

impl Drop for ConnectionEntryState {
    fn drop(&mut self) {
        lock(&self.places.lobby).leave(self.number);
    }
}

/// Nobody panics while they hold it, and what it guards is whole after each line.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
