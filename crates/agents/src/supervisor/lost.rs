//! Agents that are lost: they have run, and the lines that would say so are gone with their
//! logs. What the root's log has told of their lives is believed. Without it such an agent
//! looks like one that was made and never began, and its work would be done a second time.

use std::collections::{BTreeMap, BTreeSet};

use troupe_protocol::agent::{AgentStatus, SubagentLifecycle};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::{Fact, Record};
use troupe_protocol::{AgentId, EventMsg, SessionId};
use troupe_store::{Error, Position, Store};

use super::{Supervisor, views};

/// Agents of which no log says that they began a task. Most have indeed not begun.
pub(super) fn without_a_task(records: &[Record]) -> BTreeMap<SessionId, AgentId> {
    let mut unbegun = BTreeMap::new();
    let mut begun = BTreeSet::new();
    for record in records {
        match &record.fact {
            Fact::Born(birth) => {
                unbegun.insert(birth.session, birth.agent);
            }
            Fact::Started { agent, .. } | Fact::Ended { agent, .. } => {
                begun.insert(*agent);
            }
            _ => {}
        }
    }
    unbegun.retain(|_, agent| !begun.contains(agent));
    unbegun
}

impl Supervisor {
    /// Finds the lost among agents that seem never to have begun, and takes them out of the
    /// live tree.
    pub(super) async fn lose(&mut self, unbegun: BTreeMap<SessionId, AgentId>) {
        let Some(store) = self.shared.store().filter(|_| !unbegun.is_empty()) else {
            return;
        };
        let told = match told_of(&*store, self.root.session, &unbegun).await {
            Ok(told) => told,
            Err(error) => {
                let message = format!(
                    "whether agents are lost could not be read from the root's log, so those \
                     that seem never to have begun stay as they are until it can: {error}"
                );
                self.tree
                    .lose(&unbegun.into_values().collect::<Vec<AgentId>>());
                return self.warn(AgentId::ROOT, message);
            }
        };
        let lost: Vec<AgentId> = told.keys().copied().collect();
        self.tree.lose(&lost);
        for (agent, status) in told {
            self.tell_lost(agent, &status);
        }
    }

    fn tell_lost(&mut self, agent: AgentId, last: &AgentStatus) {
        if let AgentStatus::Completed(Some(text)) | AgentStatus::Errored(text) = last
            && let Some(member) = self.members.get_mut(&agent)
        {
            member.preview = Some(views::preview(text));
        }
        let Some(node) = self.tree.get(agent) else {
            return;
        };
        let (path, session, was) = (&node.path, node.session, last.row().agents);
        let message = format!(
            "agent {path} is lost: the log of its session {session} is gone. It was last told as \
             {was}, and is not started again; give its work to a new agent if it is still needed"
        );
        self.warn(AgentId::ROOT, message);
    }
}

/// Reads what the root's log told last of agents that ran.
async fn told_of(
    store: &dyn Store,
    root: SessionId,
    of: &BTreeMap<SessionId, AgentId>,
) -> Result<BTreeMap<AgentId, AgentStatus>, Error> {
    let mut told = BTreeMap::new();
    let mut from = Position(0);
    loop {
        let batch = store.read_all(root, from).await?;
        for line in batch.lines.iter().filter(|line| line.is("event_msg")) {
            // A line that cannot be read tells nothing; its damage is warned of elsewhere.
            let Ok(record) = line.record() else { continue };
            if let RolloutRecord::EventMsg(event) = record.record
                && let EventMsg::SubagentLifecycle(SubagentLifecycle::Status {
                    session_id,
                    status,
                    ..
                }) = event.msg
                && let Some(agent) = of.get(&session_id)
                && (status.shows_that_it_ran() || told.contains_key(agent))
            {
                told.insert(*agent, status);
            }
        }
        if batch.at_end {
            return Ok(told);
        }
        from = batch.next;
    }
}
