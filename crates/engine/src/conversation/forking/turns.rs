//! A fork at a turn. Turns are found by their events, so that it does not matter whether the
//! model answered in them.

use troupe_protocol::event::EventMsg;
use troupe_protocol::op::ForkTurn;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::{SessionId, SubmissionId};
use troupe_store::{LiveHistory, SessionStore, StoreError};

/// Reads a conversation as it was at a turn, which may be older than the newest compaction.
pub(super) async fn read_at(
    store: &dyn SessionStore,
    session: SessionId,
    turn: &ForkTurn,
) -> Result<LiveHistory, StoreError> {
    let mut live = store.read_live(session).await?;
    loop {
        if let Some(len) = length(&live, turn)? {
            live.records.truncate(len);
            return Ok(live);
        }
        let first = live.records.first().map(|(_, line)| &line.record);
        if !matches!(first, Some(RolloutRecord::Compacted(_))) {
            return Err(StoreError::NoTurn {
                turn: named(turn).clone(),
            });
        }
        live = store.read_live_at(session, live.start).await?;
    }
}

fn named(turn: &ForkTurn) -> &SubmissionId {
    match turn {
        ForkTurn::Through(id) | ForkTurn::Before(id) => id,
    }
}

/// Returns how many lines the fork has; `None` if the turn is not among them.
fn length(live: &LiveHistory, turn: &ForkTurn) -> Result<Option<usize>, StoreError> {
    let id = named(turn);
    let events = live.records.iter().map(|(_, line)| match &line.record {
        RolloutRecord::EventMsg(event) => Some(&event.msg),
        _ => None,
    });
    let events: Vec<Option<&EventMsg>> = events.collect();
    let is_start = |msg: &&EventMsg| matches!(msg, EventMsg::TurnStarted(it) if it.turn_id == *id);
    let is_end = |msg: &&EventMsg| match msg {
        EventMsg::TurnComplete(it) => it.turn_id == *id,
        EventMsg::TurnAborted(it) => it.turn_id == *id,
        _ => false,
    };
    let place = |is_it: &dyn Fn(&&EventMsg) -> bool| {
        events
            .iter()
            .position(|msg| msg.as_ref().is_some_and(is_it))
    };
    let (start, end) = (place(&is_start), place(&is_end));
    Ok(match (turn, start, end) {
        // The settings of a turn are the line before it.
        (ForkTurn::Before(_), Some(start), _) => Some(start.saturating_sub(1)),
        (ForkTurn::Through(_), _, Some(end)) => Some(end + 1),
        (ForkTurn::Through(_), Some(_), None) => {
            return Err(StoreError::TurnRuns { turn: id.clone() });
        }
        (ForkTurn::Before(_) | ForkTurn::Through(_), None, _) => None,
    })
}
