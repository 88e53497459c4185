//! Views of agents: status, activity, usage, queue position.

use std::sync::Arc;

use troupe_engine::{SessionActivity, SessionHost as _};
use troupe_protocol::AgentId;
use troupe_protocol::agent::AgentStatus;
use troupe_protocol::spawn::HistoryShare;
use troupe_protocol::text::one_line;
use troupe_protocol::usage::TokenUsage;
use troupe_tree::AgentRecord;
use troupe_tree::agent::AgentLiveness;
use troupe_tree::lifecycle::Lifecycle;

use super::Supervisor;
use super::member::TreeMember;
use crate::callback;
use crate::limits::PREVIEW_CHARS_MAX;
use crate::tree_access::AgentView;

impl Supervisor {
    /// Returns how an agent stands. It must be one of the tree.
    pub(super) fn view(&self, agent: AgentId) -> AgentView {
        let node = self
            .tree
            .get(agent)
            .expect("agents are never forgotten, and only known ones are viewed");
        let member = self.members.get(agent);
        let parent = node.parent.and_then(|parent| self.tree.get(parent));
        let last_task = match &node.lifecycle {
            Lifecycle::Ended { task, .. } => Some(task.clone()),
            Lifecycle::Shutdown { last } => last.as_ref().map(|last| last.task.clone()),
            Lifecycle::PendingInit | Lifecycle::Running { .. } => None,
        };
        let last_told = self.members.last_told(agent);
        AgentView {
            agent,
            session: node.session,
            parent: node.parent,
            parent_session: parent.map(|parent| parent.session),
            path: node.path.clone(),
            depth: node.depth,
            origin: node.genealogy.as_ref().map(|genealogy| genealogy.origin),
            on_parent_interrupt: node.bond.on_parent_interrupt,
            spec: member.map(|member| Arc::clone(&member.spec)),
            note: member.and_then(|member| member.note.clone()),
            name: member.and_then(|member| member.name.clone()),
            status: self.tree.status(agent),
            last_told: last_told.cloned(),
            preview: match member {
                Some(member) => member.preview.clone(),
                None => last_told.and_then(AgentStatus::text).map(preview),
            },
            since_ms: node.since.0,
            born_at_ms: node.born_at.0,
            ran_ms: member.and_then(|member| member.ran_ms),
            now_ms: self.now().0,
            pending: node.inbox.depth(),
            last_task,
            pulse: self.live_vitals(agent),
            reasoning_header: member.and_then(|member| member.reasoning_header.clone()),
            usage: self.usage(agent),
            subtree_usage: self.subtree_usage(agent),
            initial_message_count: initial_message_count(node, member),
            pruned: node.place == AgentLiveness::Pruned,
        }
    }

    pub(super) fn views(&self) -> Vec<AgentView> {
        let agents = self.tree.memory().iter();
        agents.map(|agent| self.view(agent.id)).collect()
    }

    /// Returns what an agent does, while it is in memory. The root always is.
    fn live_vitals(&self, agent: AgentId) -> Option<SessionActivity> {
        if agent == AgentId::ROOT {
            return Some(self.root.vitals.read());
        }
        let membership = self.members.get(agent)?.membership()?;
        Some(membership.activity_handle().read())
    }

    /// Returns the agent's own tokens: all that its session has asked a model for, and nothing
    /// that it was given with a shared history. Those of an agent that is not in memory are
    /// those of its ended tasks, because others it has none.
    fn usage(&self, agent: AgentId) -> TokenUsage {
        match (self.live_vitals(agent), self.members.get(agent)) {
            (Some(pulse), _) => pulse.usage,
            (None, Some(member)) => member.usage,
            (None, None) => TokenUsage::default(),
        }
    }

    /// Returns the tokens of the agent and of everybody within it; those of the root are the
    /// whole tree's.
    fn subtree_usage(&self, agent: AgentId) -> TokenUsage {
        let mut sum = TokenUsage::default();
        for below in self.tree.memory().within(agent) {
            sum += self.usage(below);
        }
        sum
    }

    /// Returns what a callback about `agent` can speak of.
    pub(super) fn callback_context(
        &self,
        agent: AgentId,
        target: AgentId,
        result: &troupe_protocol::result::TaskResult,
    ) -> callback::CallbackContext {
        let view = self.view(agent);
        let parent = self.tree.get(target).map(|node| node.session);
        callback::CallbackContext::new(&view, parent.unwrap_or(self.root.session), result)
    }
}

/// Returns how much of its parent's conversation an agent began with.
fn initial_message_count(node: &AgentRecord, member: Option<&TreeMember>) -> Option<u32> {
    match member.map_or(HistoryShare::None, |member| member.spec.history) {
        HistoryShare::None => Some(0),
        HistoryShare::All => {
            let point = node.genealogy.as_ref()?.point.as_ref()?;
            Some(point.message_index)
        }
        HistoryShare::LastTurns(_) => None,
    }
}

/// Returns the beginning of a text, in one line. Every agent keeps one, so it has no room to
/// grow.
pub(super) fn preview(text: &str) -> String {
    let mut line = one_line(text, PREVIEW_CHARS_MAX);
    line.shrink_to_fit();
    line
}
