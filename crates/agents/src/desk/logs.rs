//! What an agent recorded, newest last.

use serde_json::Value;
use troupe_protocol::SessionId;
use troupe_protocol::rollout::RolloutRecord;
use troupe_store::{Position, Store};

use super::Trouble;

/// Which of the recorded events are wanted.
#[derive(Debug, Clone, Default)]
pub struct LogsQuery {
    /// The newest ones, at most this many.
    pub limit: usize,
    /// At most this many bytes of JSON; the newest event is always there.
    pub bytes_max: Option<usize>,
    /// Not older than this. Inclusive.
    pub since_ms: Option<i64>,
    /// Older than this.
    pub before_ms: Option<i64>,
}

#[derive(Debug, Clone)]
pub struct Logs {
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
    store: &dyn Store,
    session: SessionId,
    query: LogsQuery,
) -> Result<Logs, Trouble> {
    let mut from = Position::default();
    let mut kept = std::collections::VecDeque::new();
    let mut total_available = 0;
    loop {
        let batch = store
            .read_all(session, from)
            .await
            .map_err(|error| Trouble::Storage(error.to_string()))?;
        for line in &batch.lines {
            // A line that cannot be read is reported by whoever resumes the session.
            let Ok(stamped) = line.record() else { continue };
            let at = stamped.timestamp.0;
            let wanted = query.since_ms.is_none_or(|since| at >= since)
                && query.before_ms.is_none_or(|before| at < before);
            if let (true, RolloutRecord::EventMsg(event)) = (wanted, stamped.record) {
                total_available += 1;
                kept.push_back((at, event.msg));
                if kept.len() > query.limit.max(1) {
                    kept.pop_front();
                }
            }
        }
        if batch.at_end || batch.next == from {
            break;
        }
        from = batch.next;
    }
    let mut events: Vec<LoggedEvent> = kept
        .into_iter()
        .filter_map(|(timestamp_ms, msg)| {
            let event = serde_json::to_value(msg).ok()?;
            Some(LoggedEvent {
                timestamp_ms,
                event,
            })
        })
        .collect();
    if let Some(bytes_max) = query.bytes_max {
        keep_newest_bytes(&mut events, bytes_max);
    }
    Ok(Logs {
        session,
        events,
        total_available,
    })
}

fn keep_newest_bytes(events: &mut Vec<LoggedEvent>, bytes_max: usize) {
    let mut bytes = 0;
    let fitting = events
        .iter()
        .rev()
        .take_while(|event| {
            bytes += event.event.to_string().len();
            bytes <= bytes_max
        })
        .count();
    let left_out = events.len() - fitting.max(1).min(events.len());
    events.drain(..left_out);
}
