//! Pages of an agent's log, newest last.
//!
//! A fork's log begins with lines of the session that it was forked from. They tell what the
//! model of the fork knows, not what the agent did, so they are left out.
//!
//! Pages are cut between moments, never inside of one: who asks for what is older than the
//! first event of a page gets everything that the page had no room for.

use std::collections::VecDeque;

use serde_json::Value;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::{EventMsg, SessionId};
use troupe_store::{LogReader, SessionStore, StoreError};

use super::TreeError;
use crate::limits::MOMENT_EVENTS_MAX;

/// Which of the recorded events are wanted.
#[derive(Debug, Clone, Default)]
pub struct LogsQuery {
    /// The newest ones, about this many: the newest moment is whole, even if it has more.
    pub limit: usize,
    /// About this many bytes of JSON; the newest moment is always there.
    pub bytes_max: Option<usize>,
    /// Not older than this. Inclusive.
    pub since_ms: Option<i64>,
    /// Older than this.
    pub before_ms: Option<i64>,
}

#[derive(Debug, Clone)]
pub struct AgentLogs {
    pub session: SessionId,
    pub events: Vec<LoggedEvent>,
    /// How many fit the times asked for.
    pub total_available: usize,
}

#[derive(Debug, Clone)]
pub struct LoggedEvent {
    pub timestamp_ms: i64,
    pub event: Value,
}

pub(super) async fn read(
    store: &dyn SessionStore,
    session: SessionId,
    query: LogsQuery,
) -> Result<AgentLogs, TreeError> {
    let mut log = LogReader::new(session);
    let mut newest = NewestMoments::new(query.limit);
    let mut is_own = false;
    let mut total_available = 0;
    let storage = |error: StoreError| TreeError::Storage(error.to_string());
    while let Some(lines) = log.next(store).await.map_err(storage)? {
        for line in &lines {
            // A line that cannot be read is reported by whoever resumes the session.
            let Ok(stamped) = line.record() else { continue };
            let RolloutRecord::EventMsg(event) = stamped.record else {
                continue;
            };
            is_own |= matches!(event.msg, EventMsg::SessionConfigured(_));
            let at = stamped.timestamp.0;
            let wanted = query.since_ms.is_none_or(|since| at >= since)
                && query.before_ms.is_none_or(|before| at < before);
            if is_own && wanted {
                total_available += 1;
                newest.push(at, event.msg);
            }
        }
    }
    Ok(AgentLogs {
        session,
        events: newest.page(query.bytes_max),
        total_available,
    })
}

/// The newest moments that are read so far, each with its events.
#[derive(Debug)]
struct NewestMoments {
    limit: usize,
    moments: VecDeque<LogMoment>,
    events: usize,
}

#[derive(Debug)]
struct LogMoment {
    at: i64,
    events: VecDeque<EventMsg>,
}

impl NewestMoments {
    fn new(limit: usize) -> Self {
        Self {
            limit: limit.max(1),
            moments: VecDeque::new(),
            events: 0,
        }
    }

    fn push(&mut self, at: i64, event: EventMsg) {
        match self.moments.back_mut() {
            Some(moment) if moment.at == at => moment.events.push_back(event),
            Some(_) | None => self.moments.push_back(LogMoment {
                at,
                events: VecDeque::from([event]),
            }),
        }
        self.events += 1;
        self.trim();
    }

    /// Lets go of the oldest moments, as long as a newer one is left.
    fn trim(&mut self) {
        while self.events > self.limit {
            if self.moments.len() > 1 {
                let oldest = self.moments.pop_front();
                self.events -= oldest.map_or(0, |moment| moment.events.len());
            } else if self.events > MOMENT_EVENTS_MAX
                && let Some(moment) = self.moments.front_mut()
            {
                moment.events.pop_front();
                self.events -= 1;
            } else {
                return;
            }
        }
    }

    /// Returns the events of the newest moments that fit.
    fn page(self, bytes_max: Option<usize>) -> Vec<LoggedEvent> {
        let bytes_max = bytes_max.unwrap_or(usize::MAX);
        let mut bytes = 0;
        let mut page: VecDeque<Vec<LoggedEvent>> = VecDeque::new();
        for moment in self.moments.into_iter().rev() {
            let events = moment.logged();
            let sizes = events.iter().map(|event| event.event.to_string().len());
            bytes += sizes.sum::<usize>();
            if bytes > bytes_max && !page.is_empty() {
                break;
            }
            page.push_front(events);
        }
        page.into_iter().flatten().collect()
    }
}

impl LogMoment {
    fn logged(self) -> Vec<LoggedEvent> {
        let events = self.events.into_iter();
        let events = events.filter_map(|msg| serde_json::to_value(msg).ok());
        events
            .map(|event| LoggedEvent {
                timestamp_ms: self.at,
                event,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
