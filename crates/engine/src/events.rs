//! The event queue: one writer, and readers that cannot slow the writer.
//!
//! Events live in a bounded ring. A reader keeps its own place by `seq`. If it falls out of
//! the ring it reads the rollout instead (every event but a delta is there), then gets the
//! text so far of each item that is still open as a snapshot, and goes on in the ring.
//!
//! A queue pair has one reader, unless it is turned into an [`EventSource`], of which readers
//! can be made at any time and from any `seq`. An [`EventTap`] is the same for a session that
//! hardly anybody watches: nothing is kept for those who come later.
//!
//! Between tasks, what the readers have seen is dropped, and without a reader nothing is kept:
//! most agents of a large tree are idle, and few are watched.

mod replay;
mod ring;
mod tap;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;
use troupe_protocol::rollout::EventRecord;
use troupe_protocol::{Event, EventMsg, project};

use replay::{EventReplay, ReplayBatch, ReplayCursor};
pub(crate) use replay::{LogSegment, SegmentOrigin};
use ring::{EventRing, NextEvent, ReaderArrival, ReaderId};
pub use tap::EventTap;

/// The writing end.
#[derive(Debug, Clone)]
pub(crate) struct EventPublisher {
    shared: Arc<SharedRing>,
}

#[derive(Debug)]
struct SharedRing {
    ring: Mutex<EventRing>,
    published: watch::Sender<u64>,
}

impl SharedRing {
    fn lock(&self) -> MutexGuard<'_, EventRing> {
        // A panic while the lock is held leaves a usable ring: each push is complete or absent.
        self.ring
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns when the session has ended.
    async fn ended(&self) {
        let mut published = self.published.subscribe();
        // The sender lives here.
        while !self.lock().is_closed() && published.changed().await.is_ok() {}
    }
}

impl EventPublisher {
    pub(crate) fn new() -> (Self, EventStream) {
        let (published, _) = watch::channel(0);
        let shared = Arc::new(SharedRing {
            ring: Mutex::default(),
            published,
        });
        let stream = EventStream::new(Arc::clone(&shared), 0, ReaderArrival::Followed);
        (Self { shared }, stream)
    }

    pub(crate) fn follow_rollout(&self, followed: LogSegment) {
        self.shared.lock().follow(followed);
    }

    pub(crate) fn publish(&self, events: impl IntoIterator<Item = Event>) {
        let last = {
            let mut ring = self.shared.lock();
            for event in events {
                ring.push(event);
            }
            ring.last()
        };
        self.shared.published.send_replace(last);
    }

    pub(crate) fn last_seq(&self) -> u64 {
        self.shared.lock().last()
    }

    /// Ends all streams once they have read what is there.
    pub(crate) fn close(&self) {
        self.shared.lock().close();
        self.shared.published.send_modify(|_| ());
    }
}

/// Where any number of readers can be had.
#[derive(Debug)]
pub struct EventSource {
    shared: Arc<SharedRing>,
}

impl EventSource {
    /// Returns a reader that goes on after `seq`: it misses and repeats nothing, but that it
    /// may be told an open text again, whole. The number may be of an earlier run of a session
    /// that is resumed, also if that is only about to happen. 0 is the beginning of this run.
    pub fn after(&self, seq: u64) -> EventStream {
        EventStream::joined(Arc::clone(&self.shared), seq)
    }

    /// Returns the number of the newest event.
    pub fn last_seq(&self) -> u64 {
        self.shared.lock().last()
    }

    /// Returns when the session has ended.
    pub async fn ended(&self) {
        self.shared.ended().await;
    }
}

impl Drop for EventSource {
    fn drop(&mut self) {
        self.shared.lock().remove_source();
    }
}

/// A reader of a session's events.
#[derive(Debug)]
pub struct EventStream {
    shared: Arc<SharedRing>,
    published: watch::Receiver<u64>,
    id: ReaderId,
    /// The `seq` up to which events were handed out, or are in the backlog.
    seen: u64,
    place: ReaderArrival,
    replay: Option<EventReplay>,
    cursor: Option<ReplayCursor>,
    /// Events fetched from the rollout that wait to be handed out.
    backlog: VecDeque<Arc<Event>>,
    /// The number that the reader came with, as long as it may be of an earlier run.
    came_with: Option<u64>,
}

/// What a reader is told.
#[derive(Debug, Clone, PartialEq)]
pub enum EventDelivery {
    Event(Arc<Event>),
    /// The reader was too slow for the ring. What was said between these two comes from the
    /// rollout, without deltas.
    Lagged {
        after: u64,
        upto: u64,
    },
}

impl EventStream {
    fn new(shared: Arc<SharedRing>, seen: u64, place: ReaderArrival) -> Self {
        let id = shared.lock().add_reader(seen);
        Self {
            published: shared.published.subscribe(),
            shared,
            id,
            seen,
            place,
            replay: None,
            cursor: None,
            backlog: VecDeque::new(),
            came_with: None,
        }
    }

    /// Makes a reader that says how much it has seen.
    fn joined(shared: Arc<SharedRing>, seq: u64) -> Self {
        // A number that was never given is of another run: all of this one is new.
        let is_known = seq <= shared.lock().last();
        let mut stream = Self::new(
            shared,
            if is_known { seq } else { 0 },
            ReaderArrival::Joined,
        );
        stream.came_with = (seq > 0).then_some(seq);
        stream
    }

    /// Tells whether the session has no task, and had none for this long.
    pub fn is_idle_for(&self, time: Duration) -> bool {
        self.shared.lock().is_idle_for(time)
    }

    /// Gives up this reader for a source of readers.
    pub fn into_source(self) -> EventSource {
        self.shared.lock().add_source();
        EventSource {
            shared: Arc::clone(&self.shared),
        }
    }

    /// Returns a way to other readers.
    pub fn tap(&self) -> EventTap {
        EventTap::new(Arc::clone(&self.shared))
    }

    /// Gives up this reader for a way to others.
    pub fn into_tap(self) -> EventTap {
        EventTap::new(Arc::clone(&self.shared))
    }

    /// Returns the next event; `None` after the session has ended. Cancel-safe.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        loop {
            if let EventDelivery::Event(event) = self.next_or_lag().await? {
                return Some(event);
            }
        }
    }

    /// As [`Self::next`], and tells when the reader has fallen behind.
    pub async fn next_or_lag(&mut self) -> Option<EventDelivery> {
        loop {
            if let Some(event) = self.backlog.pop_front() {
                return Some(EventDelivery::Event(event));
            }
            if let Some(replay) = &mut self.replay {
                match replay.next(&mut self.cursor).await {
                    ReplayBatch::Events(events) => self.backlog.extend(events),
                    ReplayBatch::End {
                        snapshots,
                        upto,
                        place,
                    } => {
                        self.backlog.extend(snapshots);
                        self.seen = upto;
                        self.replay = None;
                        self.place = place;
                    }
                }
                continue;
            }
            self.replay_earlier_run();
            if self.replay.is_some() {
                continue;
            }
            let next = self
                .shared
                .lock()
                .next_after(self.id, self.seen, self.place);
            match next {
                NextEvent::Event(event) => {
                    self.seen = event.seq;
                    self.place = ReaderArrival::Followed;
                    return Some(EventDelivery::Event(event));
                }
                NextEvent::Behind => {
                    let upto = self.replay_rollout();
                    // Who has just come is not late.
                    if self.place == ReaderArrival::Followed {
                        let after = self.seen;
                        return Some(EventDelivery::Lagged { after, upto });
                    }
                }
                NextEvent::End => return None,
                NextEvent::Wait => {
                    // The sender lives in `shared`, which this stream holds.
                    if self.published.changed().await.is_err() {
                        return None;
                    }
                }
            }
        }
    }

    /// Goes over to reading what an earlier run said, once it is known whether there was one.
    fn replay_earlier_run(&mut self) {
        let Some(came_with) = self.came_with else {
            return;
        };
        if let Some(first) = self.shared.lock().first_log() {
            self.replay = first.since(came_with);
            self.came_with = None;
        }
    }

    /// Goes over to reading the rollout, up to where the ring begins.
    fn replay_rollout(&mut self) -> u64 {
        let mut replay = self.shared.lock().replay(self.seen);
        if let Some(cursor) = self.cursor {
            replay.resume(cursor);
        }
        let upto = replay.upto();
        self.replay = Some(replay);
        upto
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.shared.lock().remove_reader(self.id);
    }
}

/// Returns a recorded event followed by its projections, numbered as when it was live.
pub fn expand(record: EventRecord) -> Vec<Event> {
    let EventRecord { id, seq, msg } = record;
    let older = match &msg {
        EventMsg::ItemStarted { item, turn_id, .. } => project::on_started(item, turn_id),
        EventMsg::ItemCompleted { item, turn_id, .. } => project::on_completed(item, turn_id),
        _ => Vec::new(),
    };
    std::iter::once(msg)
        .chain(older)
        .zip(seq..)
        .map(|(msg, seq)| Event {
            id: id.clone(),
            seq,
            msg,
        })
        .collect()
}

#[cfg(test)]
mod tests;
