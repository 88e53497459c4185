//! What is known of a task that nobody saw end: read from its log.

use troupe_protocol::SubmissionId;
use troupe_protocol::event::EventMsg;
use troupe_protocol::result::{StopReason, TaskResult};
use troupe_protocol::rollout::RolloutRecord;
use troupe_store::LiveHistory;

use crate::evidence::Seen;

/// Makes the result of a task that the engine did not survive. Files are not looked at: what
/// became of them since then is not the task's doing.
pub fn salvage(live: &LiveHistory, task: &SubmissionId) -> TaskResult {
    let mut seen = Seen::default();
    let mut last_message = None;
    let mut ended_at_ms = 0;
    let mut is_within = false;
    for (_, line) in &live.records {
        match &line.record {
            RolloutRecord::EventMsg(event) if event.id == *task => {
                is_within = true;
                ended_at_ms = line.timestamp.0;
                take_event(&mut seen, &event.msg);
            }
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
        evidence: seen.until(ended_at_ms),
    }
}

fn take_event(seen: &mut Seen, msg: &EventMsg) {
    match msg {
        EventMsg::TurnStarted(started) => *seen = Seen::since(started.started_at_ms),
        EventMsg::TokenCount {
            info: Some(info), ..
        } => seen.used(info.last_token_usage),
        EventMsg::ItemCompleted { item, .. } => seen.completed(item),
        _ => {}
    }
}
