//! Events that fell out of the ring, read again from the rollout, a batch at a time.
//!
//! A queue pair may go from one log to another (a resume, a fork), so what it said lies in
//! several logs, one after the other.

use std::collections::VecDeque;
use std::sync::Arc;

use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::{Event, EventMsg, SessionId, SubmissionId};
use troupe_store::{LineBatch, LogPosition, SessionStore};

use super::expand;
use super::ring::ReaderArrival;

/// The part of a log that holds events of this queue. What lies before was told to others, or
/// was copied from another session.
#[derive(Debug, Clone)]
pub(crate) struct LogSegment {
    pub store: Arc<dyn SessionStore>,
    pub session: SessionId,
    pub from: LogPosition,
    /// The last event before those in this log.
    pub after: u64,
    pub origin: SegmentOrigin,
}

/// What a log holds before the part that is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SegmentOrigin {
    /// Nothing that was said under these numbers.
    New,
    /// What an earlier run of the session said, up to `after`.
    Resumed,
}

impl LogSegment {
    /// Returns the way of a reader that an earlier run has told everything up to `seq`; none if
    /// it was this run.
    pub(super) fn since(&self, seq: u64) -> Option<EventReplay> {
        let is_earlier = self.origin == SegmentOrigin::Resumed && seq < self.after;
        is_earlier.then(|| {
            let whole = Self {
                from: LogPosition::default(),
                ..self.clone()
            };
            let (upto, logs) = (self.after, std::iter::once(whole));
            EventReplay::new(seq, upto, logs, Vec::new(), ReaderArrival::Joined)
        })
    }
}

/// The way of one reader back into the ring.
#[derive(Debug)]
pub(super) struct EventReplay {
    after: u64,
    /// Where the ring goes on.
    upto: u64,
    /// What is left to read. The first was read up to its `from`.
    logs: VecDeque<LogSegment>,
    snapshots: Vec<Arc<Event>>,
    /// How the reader stands to the ring at the end of it.
    leads_to: ReaderArrival,
}

/// Where a reader stopped reading, so that the next time it does not begin at the beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplayCursor {
    session: SessionId,
    position: LogPosition,
}

pub(super) enum ReplayBatch {
    /// More is to come.
    Events(Vec<Arc<Event>>),
    /// The reader is in the ring again, after this event.
    End {
        snapshots: Vec<Arc<Event>>,
        upto: u64,
        place: ReaderArrival,
    },
}

impl EventReplay {
    pub(super) fn new(
        after: u64,
        upto: u64,
        logs: impl Iterator<Item = LogSegment>,
        snapshots: Vec<Arc<Event>>,
        leads_to: ReaderArrival,
    ) -> Self {
        let mut logs: VecDeque<LogSegment> = logs.collect();
        // Everything in a log lies before what the next one begins with.
        while logs.get(1).is_some_and(|next| next.after <= after) {
            logs.pop_front();
        }
        Self {
            after,
            upto,
            logs,
            snapshots,
            leads_to,
        }
    }

    pub(super) fn upto(&self) -> u64 {
        self.upto
    }

    /// Skips what an earlier replay has read.
    pub(super) fn resume(&mut self, cursor: ReplayCursor) {
        if let Some(first) = self.logs.front_mut()
            && first.session == cursor.session
        {
            first.from = first.from.max(cursor.position);
        }
    }

    /// Reads on. Safe to cancel: what was not handed out is read again.
    pub(super) async fn next(&mut self, cursor: &mut Option<ReplayCursor>) -> ReplayBatch {
        let Some(followed) = self.logs.front() else {
            let snapshots = std::mem::take(&mut self.snapshots);
            return ReplayBatch::End {
                snapshots,
                upto: self.upto,
                place: self.leads_to,
            };
        };
        // The next log says where this one ends for us; others may have gone on writing it.
        let last = self.logs.get(1).map_or(self.upto, |next| next.after);
        let upto = last.min(self.upto);
        let read = followed.store.read_all(followed.session, followed.from);
        match read.await {
            Ok(batch) => {
                let events = events(&batch, self.after, upto);
                *cursor = Some(ReplayCursor {
                    session: followed.session,
                    position: followed.from,
                });
                self.go_on(&batch);
                ReplayBatch::Events(events)
            }
            Err(error) => {
                self.logs.pop_front();
                let message =
                    format!("events up to {upto} were missed and could not be read again: {error}");
                let warning = Event {
                    id: SubmissionId::default(),
                    seq: upto,
                    msg: EventMsg::Warning { message },
                };
                ReplayBatch::Events(vec![Arc::new(warning)])
            }
        }
    }

    fn go_on(&mut self, batch: &LineBatch) {
        match self.logs.front_mut() {
            Some(followed) if !batch.at_end => followed.from = batch.next,
            _ => {
                self.logs.pop_front();
            }
        }
    }
}

/// Returns the recorded events with `after < seq <= upto`, with their older names.
fn events(batch: &LineBatch, after: u64, upto: u64) -> Vec<Arc<Event>> {
    let mut events = Vec::new();
    let records = batch.lines.iter().filter_map(|line| line.record().ok());
    for line in records {
        if let RolloutRecord::EventMsg(record) = line.record {
            let missed = |event: &Event| event.seq > after && event.seq <= upto;
            events.extend(expand(record).into_iter().filter(missed).map(Arc::new));
        }
    }
    events
}
