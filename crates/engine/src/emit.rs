//! The only place that speaks: append to the rollout, then publish.
//!
//! Deltas are only published. Everything else is on disk before anybody hears of it, so
//! that what a client saw is there after a crash.

use troupe_protocol::event::{ErrorEvent, EventMsg};
use troupe_protocol::item::TurnItem;
use troupe_protocol::rollout::{EventRecord, RolloutRecord};
use troupe_protocol::{Event, ResponseItem, SubmissionId};
use troupe_store::{LogPosition, SessionLog, StoreError};

use crate::events::{EventPublisher, LogSegment, expand};
use crate::limits::{OUTBOX_KEPT, SEQ_BLOCK, SEQ_SPARE};

#[derive(Debug)]
pub(crate) struct Emitter {
    publisher: EventPublisher,
    log: Option<Box<dyn SessionLog>>,
    next_seq: u64,
    reserved_until: u64,
    /// Published together at the end of each step of the actor.
    outbox: Vec<Event>,
    /// The end of a task that clients heard of and the log did not. It goes with the next
    /// write that succeeds, so that no later reader takes the task for one that crashed.
    owed: Option<EventRecord>,
}

/// Where an emitter wrote before it was attached to another log.
#[derive(Debug)]
pub(crate) struct EmitterCheckpoint {
    pub log: Option<Box<dyn SessionLog>>,
    next_seq: u64,
    reserved_until: u64,
    /// How much was in the outbox.
    said: usize,
    owed: Option<EventRecord>,
}

/// One line of a write.
#[derive(Debug)]
pub(crate) enum EmittedLine {
    /// Kept, and told to nobody.
    Record(RolloutRecord),
    /// Kept, and told.
    Event(SubmissionId, EventMsg),
}

impl EmittedLine {
    pub(crate) fn event(id: &SubmissionId, msg: EventMsg) -> Self {
        Self::Event(id.clone(), msg)
    }

    pub(crate) fn item(item: &ResponseItem) -> Self {
        Self::Record(RolloutRecord::ResponseItem(item.clone()))
    }
}

impl Emitter {
    pub(crate) fn new(publisher: EventPublisher) -> Self {
        Self {
            publisher,
            log: None,
            next_seq: 1,
            reserved_until: 0,
            outbox: Vec::new(),
            owed: None,
        }
    }

    /// Makes an emitter that goes on where one that panicked left off.
    pub(crate) fn after_panic(publisher: EventPublisher) -> Self {
        let next_seq = publisher.last_seq() + 1;
        Self {
            next_seq,
            ..Self::new(publisher)
        }
    }

    pub(crate) fn follow_rollout(&self, followed: LogSegment) {
        self.publisher.follow_rollout(followed);
    }

    /// Writes to `log` from now on. Returns what [`Emitter::restore`] needs.
    pub(crate) fn attach(
        &mut self,
        log: Box<dyn SessionLog>,
        reserved_until: u64,
    ) -> EmitterCheckpoint {
        let before = EmitterCheckpoint {
            log: self.log.replace(log),
            next_seq: self.next_seq,
            reserved_until: self.reserved_until,
            said: self.outbox.len(),
            owed: self.owed.take(),
        };
        self.next_seq = self.next_seq.max(reserved_until);
        self.reserved_until = 0;
        before
    }

    /// Undoes an attachment. What was said since then is taken back: nobody has heard it.
    pub(crate) fn restore(&mut self, before: EmitterCheckpoint) {
        self.log = before.log;
        self.next_seq = before.next_seq;
        self.reserved_until = before.reserved_until;
        self.outbox.truncate(before.said);
        self.owed = before.owed;
    }

    pub(crate) fn detach(&mut self) -> Option<Box<dyn SessionLog>> {
        self.log.take()
    }

    pub(crate) fn log(&self) -> Option<&dyn SessionLog> {
        self.log.as_deref()
    }

    /// Returns the place in the log where the next line goes.
    pub(crate) fn position(&self) -> LogPosition {
        self.log
            .as_ref()
            .map_or(LogPosition(0), |log| log.position())
    }

    /// Returns the number of the last event that was said.
    pub(crate) fn last_seq(&self) -> u64 {
        self.next_seq - 1
    }

    pub(crate) fn reserved_until(&self) -> u64 {
        self.reserved_until.max(self.next_seq)
    }

    /// Appends records that no client hears of.
    pub(crate) fn record(&mut self, records: &[RolloutRecord]) -> Result<(), StoreError> {
        let Some(log) = &mut self.log else {
            return Ok(());
        };
        match &self.owed {
            None => log.append(records)?,
            Some(owed) => {
                let owed = RolloutRecord::EventMsg(owed.clone());
                let all: Vec<_> = std::iter::once(owed)
                    .chain(records.iter().cloned())
                    .collect();
                log.append(&all)?
            }
        };
        self.owed = None;
        Ok(())
    }

    /// Records events and tells clients of them.
    pub(crate) fn emit(
        &mut self,
        id: &SubmissionId,
        msgs: Vec<EventMsg>,
    ) -> Result<(), StoreError> {
        self.write(id, Vec::new(), msgs)
    }

    /// Appends records, then events, in one write, and tells clients of the events.
    pub(crate) fn write(
        &mut self,
        id: &SubmissionId,
        records: Vec<RolloutRecord>,
        msgs: Vec<EventMsg>,
    ) -> Result<(), StoreError> {
        let records = records.into_iter().map(EmittedLine::Record);
        let events = msgs.into_iter().map(|msg| EmittedLine::event(id, msg));
        self.write_lines(records.chain(events))
    }

    /// Appends lines in one write, and tells clients of the events among them. When that
    /// fails they are told only what is over: no item that they saw begin stays open.
    pub(crate) fn write_lines(
        &mut self,
        lines: impl IntoIterator<Item = EmittedLine>,
    ) -> Result<(), StoreError> {
        let lines = lines.into_iter();
        let mut records = Vec::with_capacity(lines.size_hint().0 + 1);
        let mut events = Vec::new();
        let mut seq = self.next_seq;
        for line in lines {
            match line {
                EmittedLine::Record(record) => records.push(record),
                EmittedLine::Event(id, msg) => {
                    let record = EventRecord { id, seq, msg };
                    records.push(RolloutRecord::EventMsg(record.clone()));
                    let expanded = expand(record);
                    seq += expanded.len() as u64;
                    events.extend(expanded);
                }
            }
        }
        let reservation = self.reservation(seq);
        records.extend(reservation.map(|until| RolloutRecord::SeqReserved { until }));
        if let Err(error) = self.record(&records) {
            for (id, end) in ends(records) {
                self.publish_unrecorded(&id, vec![end]);
            }
            return Err(error);
        }
        self.reserved_until = reservation.unwrap_or(self.reserved_until);
        self.next_seq = seq;
        self.outbox.append(&mut events);
        Ok(())
    }

    /// Tells clients of a piece of something that is recorded whole later.
    pub(crate) fn delta(&mut self, id: &SubmissionId, msg: EventMsg) -> Result<(), StoreError> {
        if let Some(until) = self.reservation(self.next_seq + 1) {
            self.record(&[RolloutRecord::SeqReserved { until }])?;
            self.reserved_until = until;
        }
        self.push(id, msg);
        Ok(())
    }

    /// Tells clients what could not be recorded, because recording is what failed.
    pub(crate) fn publish_unrecorded(&mut self, id: &SubmissionId, msgs: Vec<EventMsg>) {
        for msg in msgs {
            let record = EventRecord {
                id: id.clone(),
                seq: self.next_seq,
                msg,
            };
            if matches!(record.msg, EventMsg::TurnAborted(_)) {
                self.owed = Some(record.clone());
            }
            let events = expand(record);
            self.next_seq += events.len() as u64;
            self.outbox.extend(events);
        }
    }

    pub(crate) fn error(&mut self, id: &SubmissionId, error: ErrorEvent) -> Result<(), StoreError> {
        self.emit(id, vec![EventMsg::Error(error)])
    }

    pub(crate) fn warn(&mut self, id: &SubmissionId, message: String) -> Result<(), StoreError> {
        self.emit(id, vec![EventMsg::Warning { message }])
    }

    /// Returns once everything recorded so far is on disk.
    pub(crate) async fn commit(&mut self) -> Result<(), StoreError> {
        match &mut self.log {
            Some(log) => log.commit().await,
            None => Ok(()),
        }
    }

    /// Hands what was emitted to the readers.
    pub(crate) fn flush(&mut self) {
        if !self.outbox.is_empty() {
            self.publisher.publish(self.outbox.drain(..));
            self.outbox.shrink_to(OUTBOX_KEPT);
        }
    }

    fn push(&mut self, id: &SubmissionId, msg: EventMsg) {
        self.outbox.push(Event {
            id: id.clone(),
            seq: self.next_seq,
            msg,
        });
        self.next_seq += 1;
    }

    /// Returns the new reservation if the old one does not cover `next` and what has to be
    /// told when nothing can be written any more.
    fn reservation(&self, next: u64) -> Option<u64> {
        let needed = next + SEQ_SPARE;
        (self.log.is_some() && needed > self.reserved_until).then_some(next + SEQ_BLOCK)
    }
}

/// Returns the ends of items among the records. A user's message begins and ends in one
/// write, so nobody waits for its end.
fn ends(records: Vec<RolloutRecord>) -> Vec<(SubmissionId, EventMsg)> {
    let end = |record| match record {
        RolloutRecord::EventMsg(EventRecord { id, msg, .. }) => match msg {
            EventMsg::ItemCompleted {
                item: TurnItem::UserMessage(_),
                ..
            } => None,
            EventMsg::ItemCompleted { .. } => Some((id, msg)),
            _ => None,
        },
        _ => None,
    };
    records.into_iter().filter_map(end).collect()
}
