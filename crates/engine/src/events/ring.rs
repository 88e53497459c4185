//! The newest events in memory, and what is known of those that fell out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use troupe_protocol::event::TextDelta;
use troupe_protocol::{Event, EventMsg, ItemId, SubmissionId};

use super::replay::{EventReplay, LogSegment};
use crate::limits::{EVENT_RING_MAX, FOLLOWED_LOGS_MAX};

#[derive(Debug, Default)]
pub(super) struct EventRing {
    events: VecDeque<Arc<Event>>,
    /// The newest event that fell out.
    evicted: u64,
    /// The texts that were being streamed when the newest event fell out.
    open_texts: Vec<OpenText>,
    /// Where evicted events can be read again, oldest first.
    rollouts: VecDeque<LogSegment>,
    /// The first of all logs, in which what an earlier run said may stand.
    first_log: Option<LogSegment>,
    /// The newest event of all.
    last: u64,
    progress: TaskProgress,
    readers: RingReaders,
    closed: bool,
}

/// Whether the texts of a task may be open.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum TaskProgress {
    /// No task was there yet.
    #[default]
    New,
    InTask,
    Idle {
        since: Instant,
    },
}

/// Who reads, and who may yet.
#[derive(Debug, Default)]
struct RingReaders {
    /// The `seq` that each stream has seen.
    seen: BTreeMap<ReaderId, u64>,
    /// Sources that streams can still be made of.
    sources: usize,
    /// Taps, for whose streams nothing is kept but the texts that are open.
    taps: usize,
    next: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReaderId(u64);

/// How a reader came to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReaderArrival {
    /// It says that it has seen so much. It may have lost a connection in the middle of the
    /// snapshots, which all have the same number, so they are told again.
    Joined,
    /// It was told everything up to here.
    Followed,
}

pub(super) enum NextEvent {
    Event(Arc<Event>),
    Behind,
    Wait,
    End,
}

/// What fell out of the ring of the text of an item that was not complete by then.
#[derive(Debug)]
struct OpenText {
    id: SubmissionId,
    kind: StreamedTextKind,
    delta: TextDelta,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamedTextKind {
    Message,
    Plan,
    Reasoning,
    RawReasoning,
}

impl StreamedTextKind {
    fn wrap(self, delta: TextDelta) -> EventMsg {
        match self {
            Self::Message => EventMsg::AgentMessageContentDelta(delta),
            Self::Plan => EventMsg::PlanDelta(delta),
            Self::Reasoning => EventMsg::ReasoningContentDelta(delta),
            Self::RawReasoning => EventMsg::ReasoningRawContentDelta(delta),
        }
    }
}

impl EventRing {
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(super) fn is_idle(&self) -> bool {
        self.progress != TaskProgress::InTask
    }

    /// Tells whether there is no task, and was none for this long.
    pub(super) fn is_idle_for(&self, time: Duration) -> bool {
        match self.progress {
            TaskProgress::New => true,
            TaskProgress::InTask => false,
            TaskProgress::Idle { since } => since.elapsed() >= time,
        }
    }

    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> usize {
        self.events.len()
    }

    /// Returns the first log that was written to; none before the session is configured.
    pub(super) fn first_log(&self) -> Option<&LogSegment> {
        self.first_log.as_ref()
    }

    pub(super) fn follow(&mut self, followed: LogSegment) {
        self.first_log.get_or_insert_with(|| followed.clone());
        if self.rollouts.len() == FOLLOWED_LOGS_MAX {
            self.rollouts.pop_front();
        }
        self.rollouts.push_back(followed);
    }

    pub(super) fn add_reader(&mut self, seen: u64) -> ReaderId {
        let id = ReaderId(self.readers.next);
        self.readers.next += 1;
        self.readers.seen.insert(id, seen);
        id
    }

    pub(super) fn remove_reader(&mut self, id: ReaderId) {
        self.readers.seen.remove(&id);
        self.forget_if_unread();
    }

    pub(super) fn add_source(&mut self) {
        self.readers.sources += 1;
    }

    pub(super) fn remove_source(&mut self) {
        self.readers.sources -= 1;
        self.forget_if_unread();
    }

    pub(super) fn add_tap(&mut self) {
        self.readers.taps += 1;
    }

    pub(super) fn remove_tap(&mut self) {
        self.readers.taps -= 1;
        self.forget_if_unread();
    }

    fn forget_if_unread(&mut self) {
        if !self.is_unread() {
            return;
        }
        if self.readers.taps == 0 {
            self.forget();
        } else {
            let unread = std::mem::take(&mut self.events);
            for event in unread {
                self.track_open_text(&event);
            }
            self.evicted = self.last;
        }
    }

    /// Nobody reads, and nobody will who cannot read it elsewhere.
    fn is_unread(&self) -> bool {
        self.readers.seen.is_empty() && self.readers.sources == 0
    }

    pub(super) fn push(&mut self, event: Event) {
        self.last = event.seq;
        match &event.msg {
            EventMsg::TurnStarted(_) => self.progress = TaskProgress::InTask,
            EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_) => {
                self.progress = TaskProgress::Idle {
                    since: Instant::now(),
                };
            }
            _ => (),
        }
        if self.is_unread() {
            self.evicted = event.seq;
            if self.readers.taps > 0 {
                self.track_open_text(&event);
            }
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
                self.append_text(event, delta, StreamedTextKind::Message);
            }
            EventMsg::PlanDelta(delta) => self.append_text(event, delta, StreamedTextKind::Plan),
            EventMsg::ReasoningContentDelta(delta) => {
                self.append_text(event, delta, StreamedTextKind::Reasoning);
            }
            EventMsg::ReasoningRawContentDelta(delta) => {
                self.append_text(event, delta, StreamedTextKind::RawReasoning);
            }
            EventMsg::ItemCompleted { item, .. } => self.drop_text(item.id()),
            EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_) => self.open_texts.clear(),
            _ => (),
        }
    }

    fn append_text(&mut self, event: &Event, delta: &TextDelta, kind: StreamedTextKind) {
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
    pub(super) fn next_after(
        &mut self,
        reader: ReaderId,
        seen: u64,
        place: ReaderArrival,
    ) -> NextEvent {
        let again =
            place == ReaderArrival::Joined && seen == self.evicted && !self.open_texts.is_empty();
        if seen < self.evicted || again {
            return NextEvent::Behind;
        }
        let index = self.events.partition_point(|event| event.seq <= seen);
        if let Some(event) = self.events.get(index) {
            return NextEvent::Event(Arc::clone(event));
        }
        self.readers.seen.insert(reader, seen);
        if self.is_idle() {
            self.forget_if_seen();
        }
        if self.closed {
            NextEvent::End
        } else {
            NextEvent::Wait
        }
    }

    /// Between tasks, what everybody has seen need not stay in memory, if whoever comes later
    /// can read it elsewhere.
    fn forget_if_seen(&mut self) {
        let seen = self.readers.seen.values().all(|seen| *seen >= self.last);
        let recorded = self.readers.sources == 0 || !self.rollouts.is_empty();
        if seen && recorded {
            self.forget();
        }
    }

    /// Drops what is in memory, with the room that it took.
    fn forget(&mut self) {
        self.events = VecDeque::new();
        self.open_texts = Vec::new();
        self.evicted = self.last;
    }

    /// Returns the way back into the ring for a reader that has seen `seen`.
    pub(super) fn replay(&self, seen: u64) -> EventReplay {
        let snapshots = self.open_texts.iter().map(|open| self.snapshot(open));
        EventReplay::new(
            seen,
            self.evicted,
            self.rollouts.iter().cloned(),
            snapshots.collect(),
            ReaderArrival::Followed,
        )
    }

    /// Returns an open text whole, numbered as the last evicted event: the ring goes on right
    /// after it.
    fn snapshot(&self, open: &OpenText) -> Arc<Event> {
        Arc::new(Event {
            id: open.id.clone(),
            seq: self.evicted,
            msg: open.kind.wrap(TextDelta {
                snapshot: true,
                ..open.delta.clone()
            }),
        })
    }
}
