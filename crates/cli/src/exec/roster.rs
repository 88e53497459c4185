//! The agents of the tree, as far as the run's events have told.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use troupe_protocol::agent::{AgentStatus, SubagentLifecycle};
use troupe_protocol::outcome::OutcomeClass;
use troupe_protocol::{AgentId, SessionId, TaskOutcome};

#[derive(Debug, Default)]
pub struct AgentRoster(BTreeMap<AgentId, RosterEntry>);

/// One agent.
#[derive(Debug)]
pub struct RosterEntry {
    pub session: SessionId,
    pub path: String,
    pub summary: Option<String>,
    pub status: AgentStatus,
    /// How its last task ended; that it was closed later does not change it.
    end: Option<OutcomeClass>,
    /// Taken off the tree, by somebody who had dealt with it.
    is_pruned: bool,
    /// When its present work began, or was asked for while it is queued, by the reader's clock.
    pub since_ms: i64,
}

/// How many agents ended how, by the last task of each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct EndTally {
    pub completed: u32,
    pub failed: u32,
    pub interrupted: u32,
    pub cancelled: u32,
    /// Still at work, or closed before their first task had ended.
    pub unfinished: u32,
}

impl fmt::Display for EndTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            completed,
            failed,
            interrupted,
            cancelled,
            unfinished,
        } = *self;
        write!(
            f,
            "agents: {completed} completed, {failed} failed, {cancelled} cancelled"
        )?;
        for (number, word) in [(interrupted, "interrupted"), (unfinished, "unfinished")] {
            if number > 0 {
                write!(f, ", {number} {word}")?;
            }
        }
        Ok(())
    }
}

/// Returns how the last task of an agent with this status ended, if it did.
fn class(status: &AgentStatus) -> Option<OutcomeClass> {
    status.outcome().map(TaskOutcome::class)
}

impl RosterEntry {
    fn new(session: SessionId, path: String, status: AgentStatus, now_ms: i64) -> Self {
        Self {
            session,
            path,
            summary: None,
            end: class(&status),
            status,
            is_pruned: false,
            since_ms: now_ms,
        }
    }

    fn take(&mut self, status: &AgentStatus, now_ms: i64) {
        if is_over(&self.status) && !is_over(status) {
            self.since_ms = now_ms;
            self.end = None;
        }
        if is_queued(&self.status) && !is_over(status) {
            self.since_ms = now_ms;
        }
        self.end = class(status).or(self.end);
        self.status = status.clone();
    }

    fn has_failed(&self) -> bool {
        class(&self.status) == Some(OutcomeClass::Failed) && !self.is_pruned
    }
}

impl AgentRoster {
    /// Takes in what is new. Returns the agent if it is new or stands otherwise now.
    pub fn apply(&mut self, event: &SubagentLifecycle, now_ms: i64) -> Option<&RosterEntry> {
        match event {
            SubagentLifecycle::Created { subagent } => {
                let path = subagent.path.clone();
                let path = path.unwrap_or_else(|| subagent.agent_id.to_string());
                let status = subagent.status.clone();
                let known = RosterEntry {
                    summary: subagent.summary.clone(),
                    ..RosterEntry::new(subagent.session_id, path, status, now_ms)
                };
                self.0.insert(subagent.agent_id, known);
                self.0.get(&subagent.agent_id)
            }
            SubagentLifecycle::Status {
                agent_id,
                session_id,
                status,
                ..
            } => {
                let known = self.0.entry(*agent_id).or_insert_with(|| {
                    let path = agent_id.to_string();
                    RosterEntry::new(*session_id, path, AgentStatus::NotFound, now_ms)
                });
                if known.status == *status {
                    return None;
                }
                known.take(status, now_ms);
                Some(known)
            }
            // Whoever was there before is introduced when something happens to it.
            SubagentLifecycle::ReasoningHeader { .. } | SubagentLifecycle::Restored { .. } => None,
            SubagentLifecycle::Deleted { agent_id, .. } => {
                if let Some(known) = self.0.get_mut(agent_id) {
                    known.is_pruned = true;
                }
                None
            }
        }
    }

    /// Tells whether somebody has heard of the agent.
    pub fn knows(&self, agent: AgentId) -> bool {
        self.0.contains_key(&agent)
    }

    /// Returns how the agents ended; none if there are none.
    pub fn tally(&self) -> Option<EndTally> {
        let mut tally = EndTally::default();
        for known in self.0.values() {
            let count = match known.end.filter(|_| is_over(&known.status)) {
                Some(OutcomeClass::Completed) => &mut tally.completed,
                Some(OutcomeClass::Failed) => &mut tally.failed,
                Some(OutcomeClass::Interrupted) => &mut tally.interrupted,
                Some(OutcomeClass::Cancelled) => &mut tally.cancelled,
                // One that was asked nothing has nothing to finish.
                None if known.status == AgentStatus::Ready => continue,
                None => &mut tally.unfinished,
            };
            *count += 1;
        }
        (!self.0.is_empty()).then_some(tally)
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

    /// Counts the agents that wait for their turn to run.
    pub fn queued(&self) -> usize {
        self.paths(|known| is_queued(&known.status)).len()
    }

    /// Returns the paths of agents whose last task failed.
    pub fn failed(&self) -> Vec<&str> {
        self.paths(RosterEntry::has_failed)
    }

    fn paths(&self, wanted: impl Fn(&RosterEntry) -> bool) -> Vec<&str> {
        let agents = self.0.values().filter(|known| wanted(known));
        agents.map(|known| known.path.as_str()).collect()
    }
}

fn is_queued(status: &AgentStatus) -> bool {
    matches!(status, AgentStatus::Queued { .. })
}

/// Tells whether an agent with this status does nothing, and is not about to.
fn is_over(status: &AgentStatus) -> bool {
    status.row().is_final()
}
