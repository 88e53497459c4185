//! The event queue: one writer, and one reader that cannot slow the writer.
//!
//! Events live in a bounded ring. The reader keeps its own place by `seq`. If it falls out of
//! the ring it reads the rollout instead (every event but a delta is there), then gets the
//! text so far of each item that is still open as a snapshot, and goes on in the ring.
//!
//! Between tasks, what the reader has seen is dropped, and without a reader nothing is kept:
//! most agents of a large tree are idle, and few are watched.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::watch;
use troupe_protocol::event::TextDelta;
use troupe_protocol::rollout::{EventRecord, RolloutRecord};
use troupe_protocol::{Event, EventMsg, ItemId, SessionId, SubmissionId, project};
use troupe_store::{Position, Store};

use crate::limits::EVENT_RING_MAX;

/// The writing end.
#[derive(Debug, Clone)]
pub(crate) struct Publisher {
    shared: Arc<Shared>,
}

/// A reader of a session's events.
#[derive(Debug)]
pub struct EventStream {
    shared: Arc<Shared>,
    published: watch::Receiver<u64>,
    /// The `seq` up to which events were handed out or are in the backlog.
    seen: u64,
    /// Events fetched from the rollout that wait to be handed out.
    backlog: VecDeque<Arc<Event>>,
}

#[derive(Debug)]
struct Shared {
    ring: Mutex<Ring>,
    published: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Ring {
    events: VecDeque<Arc<Event>>,
    /// The newest event that fell out.
    evicted: u64,
    /// The texts that were being streamed when the newest event fell out.
    open_texts: Vec<OpenText>,
    /// Where evicted events can be read again.
    rollout: Option<Followed>,
    /// The newest event of all.
    last: u64,
    progress: Progress,
    reader: Reader,
    closed: bool,
}

/// Whether the texts of a task may be open.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Progress {
    #[default]
    Idle,
    InTask,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Reader {
    #[default]
    Present,
    Gone,
}

/// The part of a log that holds the events of this queue. What lies before was told to
/// others, or was copied from another session.
#[derive(Debug, Clone)]
pub(crate) struct Followed {
    pub store: Arc<dyn Store>,
    pub session: SessionId,
    pub from: Position,
}

/// What fell out of the ring of the text of an item that was not complete by then.
#[derive(Debug)]
struct OpenText {
    id: SubmissionId,
    kind: TextKind,
    delta: TextDelta,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextKind {
    Message,
    Plan,
    Reasoning,
    RawReasoning,
}

impl TextKind {
    fn wrap(self, delta: TextDelta) -> EventMsg {
        match self {
            Self::Message => EventMsg::AgentMessageContentDelta(delta),
            Self::Plan => EventMsg::PlanDelta(delta),
            Self::Reasoning => EventMsg::ReasoningContentDelta(delta),
            Self::RawReasoning => EventMsg::ReasoningRawContentDelta(delta),
        }
    }
}

impl Publisher {
    pub(crate) fn new() -> (Self, EventStream) {
        let (published, receiver) = watch::channel(0);
        let shared = Arc::new(Shared {
            ring: Mutex::default(),
            published,
        });
        let stream = EventStream {
            shared: Arc::clone(&shared),
            published: receiver,
            seen: 0,
            backlog: VecDeque::new(),
        };
        (Self { shared }, stream)
    }

    pub(crate) fn follow_rollout(&self, followed: Followed) {
        self.shared.lock().rollout = Some(followed);
    }

    pub(crate) fn publish(&self, events: impl IntoIterator<Item = Event>) {
        let last = {
            let mut ring = self.shared.lock();
            for event in events {
                ring.push(event);
            }
            ring.last
        };
        self.shared.published.send_replace(last);
    }

    pub(crate) fn last_seq(&self) -> u64 {
        self.shared.lock().last
    }

    /// Ends all streams once they have read what is there.
    pub(crate) fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.published.send_modify(|_| ());
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Ring> {
        // A panic while the lock is held leaves a usable ring: each push is complete or absent.
        self.ring
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Ring {
    fn push(&mut self, event: Event) {
        self.last = event.seq;
        match &event.msg {
            EventMsg::TurnStarted(_) => self.progress = Progress::InTask,
            EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_) => self.progress = Progress::Idle,
            _ => (),
        }
        if self.reader == Reader::Gone {
            return;
        }
        if self.events.len() == EVENT_RING_MAX
            && let Some(oldest) = self.events.pop_front()
        {
            // Only of what fell out: the ring still tells the rest.
            self.track_open_text(&oldest);
            self.evicted = oldest.seq;
        }
        self.events.push_back(Arc::new(event));
    }

    fn track_open_text(&mut self, event: &Event) {
        match &event.msg {
            EventMsg::AgentMessageContentDelta(delta) => {
                self.append_text(event, delta, TextKind::Message);
            }
            EventMsg::PlanDelta(delta) => self.append_text(event, delta, TextKind::Plan),
            EventMsg::ReasoningContentDelta(delta) => {
                self.append_text(event, delta, TextKind::Reasoning);
            }
            EventMsg::ReasoningRawContentDelta(delta) => {
                self.append_text(event, delta, TextKind::RawReasoning);
            }
            EventMsg::ItemCompleted { item, .. } => self.drop_text(item.id()),
            EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_) => self.open_texts.clear(),
            _ => (),
        }
    }

    fn append_text(&mut self, event: &Event, delta: &TextDelta, kind: TextKind) {
        let open = self
            .open_texts
            .iter_mut()
            .find(|open| open.delta.item_id == delta.item_id && open.kind == kind);
        match open {
            Some(open) if delta.snapshot => open.delta.delta.clone_from(&delta.delta),
            Some(open) => open.delta.delta.push_str(&delta.delta),
            None => self.open_texts.push(OpenText {
                id: event.id.clone(),
                kind,
                delta: delta.clone(),
            }),
        }
    }

    fn drop_text(&mut self, item: &ItemId) {
        self.open_texts.retain(|open| open.delta.item_id != *item);
    }

    /// Returns what a reader that has seen `seen` gets next from memory.
    fn next_after(&mut self, seen: u64) -> Next {
        if seen < self.evicted {
            return Next::Behind;
        }
        let index = self.events.partition_point(|event| event.seq <= seen);
        if let Some(event) = self.events.get(index) {
            return Next::Event(Arc::clone(event));
        }
        if self.progress == Progress::Idle {
            self.forget();
        }
        if self.closed { Next::End } else { Next::Wait }
    }

    /// Drops what nobody will ask for, with the room that it took.
    fn forget(&mut self) {
        self.events = VecDeque::new();
        self.open_texts = Vec::new();
    }

    /// Returns each open text whole, numbered as the last evicted event: the ring goes on
    /// right after it.
    fn snapshots(&self) -> Vec<Arc<Event>> {
        let snapshot = |open: &OpenText| {
            Arc::new(Event {
                id: open.id.clone(),
                seq: self.evicted,
                msg: open.kind.wrap(TextDelta {
                    snapshot: true,
                    ..open.delta.clone()
                }),
            })
        };
        self.open_texts.iter().map(snapshot).collect()
    }
}

enum Next {
    Event(Arc<Event>),
    Behind,
    Wait,
    End,
}

impl Drop for EventStream {
    fn drop(&mut self) {
        let mut ring = self.shared.lock();
        ring.reader = Reader::Gone;
        ring.forget();
    }
}

impl EventStream {
    /// Returns the next event; `None` after the session has ended. Cancel-safe.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
        loop {
            if let Some(event) = self.backlog.pop_front() {
                return Some(event);
            }
            let next = self.shared.lock().next_after(self.seen);
            match next {
                Next::Event(event) => {
                    self.seen = event.seq;
                    return Some(event);
                }
                Next::Behind => self.catch_up().await,
                Next::End => return None,
                Next::Wait => {
                    // The sender lives in `shared`, which this stream holds.
                    if self.published.changed().await.is_err() {
                        return None;
                    }
                }
            }
        }
    }

    /// Fills the backlog with what fell out of the ring.
    async fn catch_up(&mut self) {
        let (evicted, rollout, snapshots) = {
            let ring = self.shared.lock();
            (ring.evicted, ring.rollout.clone(), ring.snapshots())
        };
        if let Some(followed) = rollout {
            match read_events(&followed, self.seen, evicted).await {
                Ok(events) => self.backlog.extend(events),
                Err(error) => self.backlog.push_back(Arc::new(Event {
                    id: SubmissionId::default(),
                    seq: evicted,
                    msg: EventMsg::Warning {
                        message: format!("events up to {evicted} were missed and could not be read again: {error}"),
                    },
                })),
            }
        }
        self.backlog.extend(snapshots);
        self.seen = evicted;
    }
}

/// Reads the recorded events with `after < seq <= upto`, with their older names.
async fn read_events(
    followed: &Followed,
    after: u64,
    upto: u64,
) -> Result<Vec<Arc<Event>>, troupe_store::Error> {
    let mut events = Vec::new();
    let mut from = followed.from;
    loop {
        let batch = followed.store.read_all(followed.session, from).await?;
        let records = batch.lines.iter().filter_map(|line| line.record().ok());
        for line in records {
            if let RolloutRecord::EventMsg(record) = line.record {
                let missed = |event: &Event| event.seq > after && event.seq <= upto;
                events.extend(expand(record).into_iter().filter(missed).map(Arc::new));
            }
        }
        if batch.at_end {
            return Ok(events);
        }
        from = batch.next;
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
