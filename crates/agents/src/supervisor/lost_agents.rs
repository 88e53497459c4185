//! Agents that are lost: they have run, and the lines that would say so are gone with their
//! logs. What the root's log has told of their lives is believed. Without it such an agent
//! looks like one that was made and never began, and its work would be done a second time; and
//! those below it would be gone without a word, and their numbers given to others.

use std::collections::BTreeSet;

use troupe_protocol::agent::AgentStatus;
use troupe_protocol::tree::TimeMs;
use troupe_protocol::{AgentId, SessionId};
use troupe_store::{LogReader, SessionStore, StoreError};
use troupe_tree::logged_lives::{LoggedLives, LostAgent};

use super::{Supervisor, views};

impl Supervisor {
    /// Finds the lost, among agents that seem never to have begun and among those that no log
    /// tells of any more, and takes them out of the live tree.
    pub(super) async fn remove_lost_agents(&mut self, unbegun: &BTreeSet<AgentId>) {
        let Some(store) = self.shared.store() else {
            return;
        };
        let told = match read_lives(&*store, self.root.session).await {
            Ok(told) => told,
            Err(error) => {
                let message = format!(
                    "whether agents are lost could not be read from the root's log, so those \
                     that seem never to have begun stay as they are until it can: {error}"
                );
                let now = self.now();
                self.tree.remove_unknown_agents(unbegun, now);
                return self.warn(AgentId::ROOT, message);
            }
        };
        for LostAgent { agent, last, .. } in self.tree.remove_agents_without_log(&told, unbegun) {
            self.report_lost_agent(agent, &last);
            self.members.note_lost(agent, last);
        }
    }

    fn report_lost_agent(&mut self, agent: AgentId, last: &AgentStatus) {
        if let Some(text) = last.text()
            && let Some(member) = self.members.get_mut(agent)
        {
            member.preview = Some(views::preview(text));
        }
        let Some(node) = self.tree.get(agent) else {
            return;
        };
        let (path, session, was) = (&node.path, node.session, last.row().agents);
        let why = if self.members.get(agent).is_some() {
            format!("the log of its session {session} is gone")
        } else {
            "the log of the agent that made it is gone".to_owned()
        };
        let message = format!(
            "agent {path} is lost: {why}. It was last told as {was}, and is not started again; \
             give its work to a new agent if it is still needed"
        );
        self.warn(AgentId::ROOT, message);
    }
}

/// Reads what the root's log told of the agents of its tree.
async fn read_lives(store: &dyn SessionStore, root: SessionId) -> Result<LoggedLives, StoreError> {
    let mut told = LoggedLives::default();
    let mut log = LogReader::new(root);
    while let Some(lines) = log.next(store).await? {
        let of_agents = |kind: &&troupe_store::LogLine| kind.is("event_msg") || kind.is("agent");
        for line in lines.iter().filter(of_agents) {
            // A line that cannot be read tells nothing; its damage is warned of elsewhere.
            let Ok(stamped) = line.record() else { continue };
            told.take(root, &stamped.record, TimeMs(stamped.timestamp.0));
        }
    }
    Ok(told)
}
