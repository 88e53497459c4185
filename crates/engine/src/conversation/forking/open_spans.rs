//! What had begun and not ended when a fork was made. Its end is told in the source's log,
//! so its beginning is left to that log too.

use std::collections::HashSet;

use troupe_protocol::event::EventMsg;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::{CallId, ItemId, PendingQuestion};

/// What an event begins or ends.
#[derive(Debug, PartialEq, Eq, Hash)]
enum EventSpan<'a> {
    Item(&'a ItemId),
    Question(&'a CallId),
    Spawn(&'a CallId),
    Interaction(&'a CallId),
    Waiting(&'a CallId),
    Close(&'a CallId),
    Resume(&'a CallId),
}

/// Which end of a span an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpanEdge {
    Begin,
    End,
}

/// Leaves out beginnings without an end.
pub(super) fn leave_out(records: &mut Vec<RolloutRecord>) {
    let edges = records.iter().filter_map(event).filter_map(edge);
    let ended: HashSet<EventSpan<'_>> = edges
        .filter_map(|(edge, span)| (edge == SpanEdge::End).then_some(span))
        .collect();
    let keep: Vec<bool> = records
        .iter()
        .map(|record| match event(record).and_then(edge) {
            Some((SpanEdge::Begin, span)) => ended.contains(&span),
            Some((SpanEdge::End, _)) | None => true,
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

/// Returns what an event begins or ends.
fn edge(msg: &EventMsg) -> Option<(SpanEdge, EventSpan<'_>)> {
    use SpanEdge::{Begin, End};
    Some(match msg {
        EventMsg::ItemStarted { item, .. } => (Begin, EventSpan::Item(item.id())),
        EventMsg::ItemCompleted { item, .. } => (End, EventSpan::Item(item.id())),
        EventMsg::ExecApprovalRequest(_)
        | EventMsg::ApplyPatchApprovalRequest(_)
        | EventMsg::RequestUserInput(_)
        | EventMsg::ElicitationRequest(_) => {
            (Begin, EventSpan::Question(PendingQuestion::id_of(msg)?))
        }
        EventMsg::ApprovalResolved { .. }
        | EventMsg::UserInputResolved { .. }
        | EventMsg::ElicitationResolved { .. } => {
            (End, EventSpan::Question(PendingQuestion::settled_by(msg)?))
        }
        EventMsg::CollabAgentSpawnBegin(begin) => (Begin, EventSpan::Spawn(&begin.call_id)),
        EventMsg::CollabAgentSpawnEnd(end) => (End, EventSpan::Spawn(&end.call_id)),
        EventMsg::CollabAgentInteractionBegin(it) => (Begin, EventSpan::Interaction(&it.call_id)),
        EventMsg::CollabAgentInteractionEnd(it) => (End, EventSpan::Interaction(&it.call_id)),
        EventMsg::CollabWaitingBegin(begin) => (Begin, EventSpan::Waiting(&begin.call_id)),
        EventMsg::CollabWaitingEnd(end) => (End, EventSpan::Waiting(&end.call_id)),
        EventMsg::CollabCloseBegin(begin) => (Begin, EventSpan::Close(&begin.call_id)),
        EventMsg::CollabCloseEnd(end) => (End, EventSpan::Close(&end.call_id)),
        EventMsg::CollabResumeBegin(begin) => (Begin, EventSpan::Resume(&begin.call_id)),
        EventMsg::CollabResumeEnd(end) => (End, EventSpan::Resume(&end.call_id)),
        // Tasks are cut off elsewhere, and the older names are projected from items.
        EventMsg::SessionConfigured(_)
        | EventMsg::ThreadNameUpdated { .. }
        | EventMsg::ThreadNoteUpdated { .. }
        | EventMsg::TurnContextUpdated(_)
        | EventMsg::ShutdownComplete
        | EventMsg::TurnStarted(_)
        | EventMsg::TurnComplete(_)
        | EventMsg::TurnAborted(_)
        | EventMsg::ResponseCompleted { .. }
        | EventMsg::SteerReceipt(_)
        | EventMsg::TokenCount { .. }
        | EventMsg::ContextCompacted
        | EventMsg::ThreadRolledBack { .. }
        | EventMsg::ItemsInjected { .. }
        | EventMsg::UndoStarted { .. }
        | EventMsg::UndoCompleted(_)
        | EventMsg::Error(_)
        | EventMsg::StreamError(_)
        | EventMsg::Warning { .. }
        | EventMsg::DeprecationNotice { .. }
        | EventMsg::BackgroundEvent(_)
        | EventMsg::AgentMessageContentDelta(_)
        | EventMsg::PlanDelta(_)
        | EventMsg::ReasoningContentDelta(_)
        | EventMsg::ReasoningRawContentDelta(_)
        | EventMsg::AgentReasoningSectionBreak { .. }
        | EventMsg::UserMessage { .. }
        | EventMsg::AgentMessage { .. }
        | EventMsg::AgentReasoning { .. }
        | EventMsg::AgentReasoningRawContent { .. }
        | EventMsg::ExecCommandBegin(_)
        | EventMsg::ExecCommandOutputDelta(_)
        | EventMsg::TerminalInteraction { .. }
        | EventMsg::ExecCommandEnd(_)
        | EventMsg::PatchApplyBegin { .. }
        | EventMsg::PatchApplyEnd { .. }
        | EventMsg::PlanUpdate { .. }
        | EventMsg::TurnDiff { .. }
        | EventMsg::ViewImageToolCall { .. }
        | EventMsg::McpStartupUpdate { .. }
        | EventMsg::McpStartupComplete { .. }
        | EventMsg::McpToolCallBegin { .. }
        | EventMsg::McpToolCallEnd { .. }
        | EventMsg::McpToolCallProgress { .. }
        | EventMsg::EnteredReviewMode { .. }
        | EventMsg::ExitedReviewMode { .. }
        | EventMsg::ListSkillsResponse { .. }
        | EventMsg::ListModelsResponse(_)
        | EventMsg::McpListToolsResponse(_)
        | EventMsg::SubagentLifecycle(_)
        | EventMsg::AgentInbox(_) => return None,
    })
}
