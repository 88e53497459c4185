//! What a stored session said, for a client that opens it.

use std::sync::Arc;

use agent_client_protocol_schema::v1::SessionUpdate;
use troupe_protocol::SessionId;
use troupe_protocol::policy::CollaborationMode;
use troupe_protocol::rollout::RolloutRecord;
use troupe_store::{LiveHistory, SessionStore, StoreError};

use super::updates::{NoticeStyle, ReplayMode, UpdateTranslator};
use crate::limits::{REPLAY_SEGMENTS_MAX, REPLAY_UPDATES_MAX};

/// Returns the past of a session, oldest first; of a very long one the end.
pub(super) async fn past(
    store: &Arc<dyn SessionStore>,
    session: SessionId,
) -> Result<Vec<SessionUpdate>, StoreError> {
    let mut segments = vec![store.read_live(session).await?];
    // A summary stands for what lies before it. The client's user has read that too.
    while segments.len() < REPLAY_SEGMENTS_MAX
        && let Some(earliest) = segments.last()
        && begins_with_summary(earliest)
    {
        let upto = earliest.start;
        segments.push(store.read_live_at(session, upto).await?);
    }
    // The mode that is told with the session is the current one.
    let mode = CollaborationMode::default();
    let mut updates = UpdateTranslator::new(ReplayMode::Past, NoticeStyle::Own, mode);
    let mut told = Vec::new();
    for segment in segments.iter().rev() {
        for (_, line) in &segment.records {
            if let RolloutRecord::EventMsg(record) = &line.record {
                let news = updates.of(&record.msg).into_iter();
                told.extend(news.filter(is_conversation));
            }
        }
    }
    let start = told.len().saturating_sub(REPLAY_UPDATES_MAX);
    Ok(told.split_off(start))
}

fn begins_with_summary(segment: &LiveHistory) -> bool {
    let first = segment.records.first();
    first.is_some_and(|(_, line)| matches!(line.record, RolloutRecord::Compacted(_)))
}

/// Settings of the past are over.
fn is_conversation(update: &SessionUpdate) -> bool {
    matches!(
        update,
        SessionUpdate::UserMessageChunk(_)
            | SessionUpdate::AgentMessageChunk(_)
            | SessionUpdate::AgentThoughtChunk(_)
            | SessionUpdate::ToolCall(_)
            | SessionUpdate::ToolCallUpdate(_)
            | SessionUpdate::Plan(_)
    )
}
