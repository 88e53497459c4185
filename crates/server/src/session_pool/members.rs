//! The agents below threads, for those who name them by their session.

use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::{EventMsg, SessionId, SubmissionId};
use troupe_tree::effect::UndeliverableReason;

use super::SessionPool;

impl SessionPool {
    /// Returns the root of the tree that a session belongs to; `None` for a session that is in
    /// no tree.
    pub async fn root_of(
        &self,
        session: SessionId,
    ) -> Result<Option<SessionId>, troupe_store::StoreError> {
        if let Ok(store) = self.store()
            && let Some(at) = store.tree_of(session).await?
        {
            return Ok(Some(at.root));
        }
        Ok(self.root_in_memory(session).await)
    }

    /// A child that waits for a slot, and one of a tree that is not kept, have no log: only
    /// their trees know them.
    async fn root_in_memory(&self, session: SessionId) -> Option<SessionId> {
        let address = session.to_string();
        for thread in self.loaded().await {
            let agents = thread.agents();
            if agents.is_planted() && agents.user().view(&address).await.is_ok() {
                return Some(thread.id());
            }
        }
        None
    }
}

/// Returns where a conversation is now, for a child that branches off there: the task that runs, or
/// ran last, and how many items the model knows. One that is kept nowhere, or never had a task, is
/// nowhere.
pub async fn place_of(house: &SessionPool, session: SessionId) -> Option<(SubmissionId, u32)> {
    let store = house.store().ok()?;
    let live = store.read_live(session).await.ok()?;
    let mut task = None;
    let mut items = 0;
    for (_, line) in &live.records {
        match &line.record {
            RolloutRecord::ResponseItem(_) => items += 1,
            RolloutRecord::Compacted(compacted) => items = compacted.replacement_history.len(),
            RolloutRecord::EventMsg(event) => match &event.msg {
                EventMsg::TurnStarted(started) => task = Some(started.turn_id.clone()),
                EventMsg::TurnComplete(complete) => task = Some(complete.turn_id.clone()),
                EventMsg::TurnAborted(aborted) => task = Some(aborted.turn_id.clone()),
                _ => {}
            },
            _ => {}
        }
    }
    Some((task?, u32::try_from(items).unwrap_or(u32::MAX)))
}

/// Tells a person why an agent takes no message, and what to do.
pub fn dead_agent_advice(why: UndeliverableReason) -> &'static str {
    match why {
        UndeliverableReason::Closed => "the agent is closed; `troupe agents resume` brings it back",
        UndeliverableReason::Pruned => "the agent was pruned; only its result is left",
        UndeliverableReason::Lost => "the log of the agent is gone; give its work to a new agent",
        UndeliverableReason::Stopping => "the agent is being stopped; try again when it has ended",
    }
}
