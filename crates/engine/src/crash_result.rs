//! What is known of a task that nobody saw end: read from its log.

use troupe_protocol::SubmissionId;
use troupe_protocol::event::{AbortReason, EventMsg};
use troupe_protocol::result::{StopReason, TaskResult};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::undo::FileFact;
use troupe_store::LiveHistory;

use crate::evidence::EvidenceCollector;

/// Makes the result of a task that the engine did not survive. It ended with the last line
/// that its log has of it. The log says which files its patches touched and what they were
/// before; what they are is looked up now, as for an undo: nobody was there to look earlier.
/// What its commands changed stays unknown.
pub async fn result_after_crash(live: &LiveHistory, task: &SubmissionId) -> TaskResult {
    let mut seen = EvidenceCollector::default();
    let mut last_message = None;
    let mut ended_at_ms = 0;
    let mut is_within = false;
    for (_, line) in &live.records {
        match &line.record {
            // Written by who took the log up again, if somebody did.
            RolloutRecord::EventMsg(event) if is_crash(&event.msg) => {}
            RolloutRecord::EventMsg(event) if event.id == *task => {
                is_within = true;
                ended_at_ms = line.timestamp.0;
                take_event(&mut seen, &event.msg);
            }
            RolloutRecord::Files(fact) if is_of(fact, task) => seen.filed(fact),
            RolloutRecord::ResponseItem(item) if is_within => {
                seen.responded(std::slice::from_ref(item));
                last_message = item.assistant_message().or(last_message);
            }
            _ => {}
        }
    }
    TaskResult {
        session_id: live.meta.id,
        task_id: task.clone(),
        stop: StopReason::Crash,
        last_message,
        output: None,
        evidence: seen.finish(ended_at_ms).await,
    }
}

fn is_crash(msg: &EventMsg) -> bool {
    matches!(msg, EventMsg::TurnAborted(aborted) if aborted.reason == AbortReason::Crash)
}

fn is_of(fact: &FileFact, task: &SubmissionId) -> bool {
    match fact {
        FileFact::Tree { turn_id, .. }
        | FileFact::Touching { turn_id, .. }
        | FileFact::Changed { turn_id, .. } => turn_id == task,
        FileFact::Undone { .. } | FileFact::Redone => false,
    }
}

fn take_event(seen: &mut EvidenceCollector, msg: &EventMsg) {
    match msg {
        EventMsg::TurnStarted(started) => *seen = EvidenceCollector::since(started.started_at_ms),
        EventMsg::TokenCount {
            info: Some(info), ..
        } => seen.used(info.last_token_usage),
        EventMsg::ItemCompleted { item, .. } => seen.completed(item),
        _ => {}
    }
}
