//! What had begun and not ended when a fork was made. Its end is told in the source's log,
//! so its beginning is left to that log too.

use std::collections::HashSet;

use troupe_protocol::event::EventMsg;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::{CallId, ItemId};

/// What an event begins or ends.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Span<'a> {
    Item(&'a ItemId),
    Question(&'a CallId),
    Spawn(&'a CallId),
    Interaction(&'a CallId),
    Waiting(&'a CallId),
    Close(&'a CallId),
    Resume(&'a CallId),
}

/// Leaves out beginnings without an end.
pub(super) fn leave_out(records: &mut Vec<RolloutRecord>) {
    let ended: HashSet<Span<'_>> = records.iter().filter_map(event).filter_map(end).collect();
    let keep: Vec<bool> = records
        .iter()
        .map(|record| {
            event(record)
                .and_then(begin)
                .is_none_or(|span| ended.contains(&span))
        })
        .collect();
    let mut keep = keep.into_iter();
    records.retain(|_| keep.next().unwrap_or(true));
}

fn event(record: &RolloutRecord) -> Option<&EventMsg> {
    match record {
        RolloutRecord::EventMsg(event) => Some(&event.msg),
        _ => None,
    }
}

fn begin(msg: &EventMsg) -> Option<Span<'_>> {
    Some(match msg {
        EventMsg::ItemStarted { item, .. } => Span::Item(item.id()),
        EventMsg::ExecApprovalRequest(request) => Span::Question(&request.call_id),
        EventMsg::ApplyPatchApprovalRequest(request) => Span::Question(&request.call_id),
        EventMsg::RequestUserInput(request) => Span::Question(&request.call_id),
        EventMsg::ElicitationRequest(request) => Span::Question(&request.id),
        EventMsg::CollabAgentSpawnBegin(begin) => Span::Spawn(&begin.call_id),
        EventMsg::CollabAgentInteractionBegin(begin) => Span::Interaction(&begin.call_id),
        EventMsg::CollabWaitingBegin(begin) => Span::Waiting(&begin.call_id),
        EventMsg::CollabCloseBegin(begin) => Span::Close(&begin.call_id),
        EventMsg::CollabResumeBegin(begin) => Span::Resume(&begin.call_id),
        _ => return None,
    })
}

fn end(msg: &EventMsg) -> Option<Span<'_>> {
    Some(match msg {
        EventMsg::ItemCompleted { item, .. } => Span::Item(item.id()),
        EventMsg::ApprovalResolved { call_id, .. }
        | EventMsg::UserInputResolved { call_id, .. } => Span::Question(call_id),
        EventMsg::ElicitationResolved { id, .. } => Span::Question(id),
        EventMsg::CollabAgentSpawnEnd(end) => Span::Spawn(&end.call_id),
        EventMsg::CollabAgentInteractionEnd(end) => Span::Interaction(&end.call_id),
        EventMsg::CollabWaitingEnd(end) => Span::Waiting(&end.call_id),
        EventMsg::CollabCloseEnd(end) => Span::Close(&end.call_id),
        EventMsg::CollabResumeEnd(end) => Span::Resume(&end.call_id),
        _ => return None,
    })
}
