//! What the root's log has told of the lives of agents. It is hearsay: the truth stands in the
//! agents' own logs. Where such a log is gone it is all that is left, and is believed: an agent
//! that ran is not run a second time, its last end is told, and its number is not given again.

use std::collections::{BTreeMap, BTreeSet};

use troupe_protocol::agent::{AgentStatus, SubagentLifecycle, SubagentSummary};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::{AgentBirth, Genealogy, ParentLink, TimeMs, TreeFact, TreeRecord};
use troupe_protocol::{AgentId, SessionId};

use crate::TreeMemory;

/// The lives of all agents that a root's log speaks of.
#[derive(Debug, Clone, Default)]
pub struct LoggedLives(BTreeMap<AgentId, LoggedLife>);

/// The life of one of them.
#[derive(Debug, Clone)]
struct LoggedLife {
    session: SessionId,
    /// Events of older logs name only the session.
    summary: Option<SubagentSummary>,
    last: Option<AgentStatus>,
    ran: bool,
    at: TimeMs,
}

/// An agent that ran, and of which no log of its own says so any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostAgent {
    pub agent: AgentId,
    /// How it stood when the root's log told of it last.
    pub last: AgentStatus,
    pub at: TimeMs,
}

impl LoggedLives {
    /// Takes the next line of the log of the tree's root. A fork begins with lines of another
    /// tree, whose agents are not its own, so its own lives begin where it was rooted.
    pub fn take(&mut self, root: SessionId, line: &RolloutRecord, at: TimeMs) {
        match line {
            RolloutRecord::Agent(line)
                if line.tree == root && matches!(line.record.fact, TreeFact::Rooted { .. }) =>
            {
                self.0.clear();
            }
            RolloutRecord::EventMsg(event) => {
                if let troupe_protocol::EventMsg::SubagentLifecycle(life) = &event.msg {
                    self.take_event(life, at);
                }
            }
            _ => {}
        }
    }

    fn take_event(&mut self, life: &SubagentLifecycle, at: TimeMs) {
        let (agent, session, summary, status) = match life {
            SubagentLifecycle::Created { subagent } | SubagentLifecycle::Restored { subagent } => {
                (subagent.agent_id, subagent.session_id, Some(subagent), None)
            }
            SubagentLifecycle::Status {
                agent_id,
                session_id,
                status,
                subagent,
            } => (*agent_id, *session_id, subagent.as_deref(), Some(status)),
            SubagentLifecycle::ReasoningHeader {
                agent_id,
                session_id,
                subagent,
                ..
            }
            | SubagentLifecycle::Deleted {
                agent_id,
                session_id,
                subagent,
            } => (*agent_id, *session_id, subagent.as_deref(), None),
        };
        let told = self.0.entry(agent).or_insert_with(|| LoggedLife {
            session,
            summary: None,
            last: None,
            ran: false,
            at,
        });
        if let Some(summary) = summary {
            told.summary = Some(summary.clone());
        }
        // What it is once it was found to be lost says nothing new of it.
        if let Some(status) = status.filter(|it| !matches!(it, AgentStatus::Lost(_))) {
            told.ran |= status.shows_that_it_ran();
            told.last = Some(status.clone());
            told.at = at;
        }
    }

    /// Returns the highest number that was given to an agent.
    pub fn highest(&self) -> Option<AgentId> {
        self.0.keys().next_back().copied()
    }

    /// Puts those into a memory whose births stood in logs that are gone, and takes all who are
    /// lost out of the live tree. Returns them, parents before their children.
    pub fn mark_lost_agents(
        &self,
        memory: &mut TreeMemory,
        unbegun: &BTreeSet<AgentId>,
    ) -> Vec<LostAgent> {
        memory.spend_numbers(self.highest());
        let mut lost = Vec::new();
        for (agent, told) in &self.0 {
            let is_known = memory.get(*agent).is_some();
            if is_known && !(told.ran && unbegun.contains(agent)) {
                continue;
            }
            if !is_known && !told.put_back(memory) {
                continue;
            }
            memory.mark_lost(*agent, told.at);
            lost.push(LostAgent {
                agent: *agent,
                last: told.last.clone().unwrap_or(AgentStatus::PendingInit),
                at: told.at,
            });
        }
        lost
    }
}

impl LoggedLife {
    /// Puts an agent back into the tree, as far as the root's log tells of its birth. Returns
    /// whether there is such an agent now.
    fn put_back(&self, memory: &mut TreeMemory) -> bool {
        let Some(summary) = &self.summary else {
            return false;
        };
        let agent = summary.agent_id;
        let parent = summary.parent_agent_id;
        let birth = AgentBirth {
            agent,
            parent: parent
                .filter(|parent| memory.get(*parent).is_some())
                .unwrap_or(AgentId::ROOT),
            session: self.session,
            path: match &summary.path {
                Some(path) => path.clone(),
                None => format!("/root/agent-{agent}"),
            },
            genealogy: Genealogy {
                origin: summary.origin,
                point: None,
            },
            bond: ParentLink::default(),
            first: None,
        };
        memory
            .put_back(&birth, TimeMs(summary.started_at_ms))
            .is_ok()
    }
}

/// Agents of which no log says that they began a task. Most have indeed not begun.
pub fn without_a_task(records: &[TreeRecord]) -> BTreeSet<AgentId> {
    let mut unbegun = BTreeSet::new();
    let mut begun = BTreeSet::new();
    for record in records {
        match &record.fact {
            TreeFact::Born(birth) => {
                unbegun.insert(birth.agent);
            }
            TreeFact::Started { agent, .. } | TreeFact::Ended { agent, .. } => {
                begun.insert(*agent);
            }
            _ => {}
        }
    }
    unbegun.retain(|agent| !begun.contains(agent));
    unbegun
}
