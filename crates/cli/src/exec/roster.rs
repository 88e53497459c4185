//! Who is in the tree, as far as its events have told.

use std::collections::BTreeMap;

use troupe_protocol::agent::{AgentStatus, SubagentLifecycle};
use troupe_protocol::{AgentId, SessionId};

#[derive(Debug, Default)]
pub struct Roster(BTreeMap<AgentId, Known>);

/// One agent.
#[derive(Debug)]
pub struct Known {
    pub session: SessionId,
    pub path: String,
    pub summary: Option<String>,
    pub status: AgentStatus,
    /// When its present work was asked for, by the reader's clock.
    pub since_ms: i64,
}

impl Known {
    fn has_failed(&self) -> bool {
        matches!(
            self.status,
            AgentStatus::Errored(_) | AgentStatus::BudgetExceeded
        )
    }
}

impl Roster {
    /// Takes in what is new. Returns the agent if it is new or stands otherwise now.
    pub fn apply(&mut self, event: &SubagentLifecycle, now_ms: i64) -> Option<&Known> {
        match event {
            SubagentLifecycle::Created { subagent } => {
                let known = Known {
                    session: subagent.session_id,
                    path: subagent
                        .path
                        .clone()
                        .unwrap_or_else(|| subagent.agent_id.to_string()),
                    summary: subagent.summary.clone(),
                    status: subagent.status.clone(),
                    since_ms: now_ms,
                };
                self.0.insert(subagent.agent_id, known);
                self.0.get(&subagent.agent_id)
            }
            SubagentLifecycle::Status {
                agent_id,
                session_id,
                status,
            } => {
                // One of an older tree was made before there was anybody to tell.
                let known = self.0.entry(*agent_id).or_insert_with(|| Known {
                    session: *session_id,
                    path: agent_id.to_string(),
                    summary: None,
                    status: AgentStatus::NotFound,
                    since_ms: now_ms,
                });
                if known.status == *status {
                    return None;
                }
                if is_over(&known.status) && !is_over(status) {
                    known.since_ms = now_ms;
                }
                known.status = status.clone();
                Some(known)
            }
            SubagentLifecycle::ReasoningHeader { .. } => None,
            SubagentLifecycle::Deleted { agent_id, .. } => {
                // Whoever takes a failed agent off the tree has dealt with it.
                self.0.remove(agent_id);
                None
            }
        }
    }

    /// Returns how people call the agent with this session.
    pub fn name(&self, session: SessionId) -> String {
        let known = self.0.values().find(|known| known.session == session);
        known.map_or_else(|| session.to_string(), |known| known.path.clone())
    }

    /// Returns the paths of agents that are at work, or about to be.
    pub fn at_work(&self) -> Vec<&str> {
        self.paths(|known| !is_over(&known.status))
    }

    /// Returns the paths of agents whose last task failed.
    pub fn failed(&self) -> Vec<&str> {
        self.paths(Known::has_failed)
    }

    fn paths(&self, wanted: impl Fn(&Known) -> bool) -> Vec<&str> {
        let agents = self.0.values().filter(|known| wanted(known));
        agents.map(|known| known.path.as_str()).collect()
    }
}

/// Tells whether an agent with this status does nothing, and is not about to.
fn is_over(status: &AgentStatus) -> bool {
    status.row().is_final()
}
