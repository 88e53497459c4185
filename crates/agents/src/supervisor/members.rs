//! The children of a tree, whether their sessions are in memory, and the way to those that are.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use troupe_engine::{OrderSender, SessionOrder};
use troupe_protocol::agent::AgentStatus;
use troupe_protocol::spawn::{CallbackConfig, ChildInstructions, HistoryShare};
use troupe_protocol::{AgentId, Op, SessionId, SubmissionId};
use troupe_tree::Tree;

use super::member::{LoadingSession, SessionPresence, TreeMember};

#[derive(Debug, Default)]
pub(super) struct TreeMembers {
    /// Boxed: the map grows at its end, which leaves its nodes half empty.
    children: BTreeMap<AgentId, Box<TreeMember>>,
    /// Sessions that were loaded only to have a line written.
    write_only: BTreeSet<AgentId>,
    /// How those stood who are lost, when the root's log told of them last.
    last_told: BTreeMap<AgentId, AgentStatus>,
}

impl TreeMembers {
    pub(super) fn get(&self, agent: AgentId) -> Option<&TreeMember> {
        self.children.get(&agent).map(Box::as_ref)
    }

    pub(super) fn get_mut(&mut self, agent: AgentId) -> Option<&mut TreeMember> {
        self.children.get_mut(&agent).map(Box::as_mut)
    }

    pub(super) fn insert(&mut self, agent: AgentId, member: TreeMember) {
        self.children.insert(agent, Box::new(member));
    }

    pub(super) fn agents(&self) -> impl Iterator<Item = AgentId> {
        self.children.keys().copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (AgentId, &TreeMember)> {
        let children = self.children.iter();
        children.map(|(agent, member)| (*agent, &**member))
    }

    /// Tells whether a session is in memory, or on its way in or out.
    pub(super) fn any_present(&self) -> bool {
        self.children.values().any(|member| member.is_present())
    }

    pub(super) fn note_lost(&mut self, agent: AgentId, last: AgentStatus) {
        self.last_told.insert(agent, last);
    }

    pub(super) fn last_told(&self, agent: AgentId) -> Option<&AgentStatus> {
        self.last_told.get(&agent)
    }

    /// Returns the way to a session that is in memory.
    pub(super) fn orders(&self, agent: AgentId) -> Option<&OrderSender> {
        match &self.get(agent)?.presence {
            SessionPresence::Present(present) => Some(&present.orders),
            SessionPresence::Absent | SessionPresence::Loading(_) | SessionPresence::Leaving(_) => {
                None
            }
        }
    }

    /// Hands an order to a session that is in memory, or keeps it for one that is on its way.
    /// Returns it if the session has to be loaded first.
    pub(super) fn deliver(&mut self, agent: AgentId, order: SessionOrder) -> Option<SessionOrder> {
        match &mut self.get_mut(agent)?.presence {
            SessionPresence::Present(present) => {
                // One that is gone by a defect is missed by `unloaded`.
                present.orders.give(order);
            }
            SessionPresence::Loading(LoadingSession { orders, .. })
            | SessionPresence::Leaving(orders) => orders.push_back(order),
            SessionPresence::Absent => return Some(order),
        }
        None
    }

    /// Lets a session go. Its log is free when `unloaded` hears of it.
    pub(super) fn unload(&mut self, agent: AgentId) {
        let Some(member) = self.get_mut(agent) else {
            return;
        };
        if let SessionPresence::Present(present) = &member.presence {
            present.orders.give(shutdown());
            member.enter(agent, SessionPresence::Leaving(VecDeque::new()));
            member.last_result = None;
        }
    }

    /// Lets every session go. Called again until none is left.
    pub(super) fn unload_all(&mut self) {
        let all: Vec<AgentId> = self.agents().collect();
        for agent in all {
            self.unload(agent);
        }
    }

    /// Lets every session go at once, whatever it does.
    pub(super) fn drop_all(&mut self) {
        for (&agent, member) in &mut self.children {
            if let SessionPresence::Present(present) = &mut member.presence {
                present.orders.give(shutdown());
                member.enter(agent, SessionPresence::Leaving(VecDeque::new()));
            } else if let SessionPresence::Loading(_) = member.presence {
                member.enter(agent, SessionPresence::Absent);
            }
        }
    }

    /// Remembers that a session comes into memory only to have a line written.
    pub(super) fn note_write_only(&mut self, agent: AgentId) {
        self.write_only.insert(agent);
    }

    pub(super) fn has_write_only(&self) -> bool {
        !self.write_only.is_empty()
    }

    /// Lets sessions go that came only to write something down.
    pub(super) fn unload_write_only(&mut self, tree: &Tree) {
        for agent in self.write_only.clone() {
            match self.get(agent).map(|member| &member.presence) {
                Some(SessionPresence::Loading(_) | SessionPresence::Leaving(_)) => continue,
                Some(SessionPresence::Present(_)) if !tree.is_resident(agent) => {
                    self.unload(agent);
                }
                Some(SessionPresence::Present(_) | SessionPresence::Absent) | None => {}
            }
            self.write_only.remove(&agent);
        }
    }

    /// Returns the text of the role that an agent follows: a fork follows that of its maker, so
    /// that the two begin with the same bytes.
    pub(super) fn role_text(&self, tree: &Tree, agent: AgentId) -> Option<Arc<str>> {
        let mut next = agent;
        loop {
            match &self.get(next)?.spec.instructions {
                ChildInstructions::Role(text) => return Some(Arc::clone(text)),
                ChildInstructions::Inherited => next = tree.get(next)?.maker?,
            }
        }
    }

    /// Returns whose conversation an agent's begins with, if it begins with a whole one.
    pub(super) fn cache_key(&self, tree: &Tree, agent: AgentId) -> Option<SessionId> {
        let mut shared = None;
        let mut next = Some(agent);
        while let Some(member) = next.and_then(|agent| self.get(agent)) {
            if member.spec.history != HistoryShare::All {
                break;
            }
            next = next.and_then(|agent| tree.get(agent)?.maker);
            shared = next
                .and_then(|agent| tree.get(agent))
                .map(|node| node.session);
        }
        shared
    }

    /// Returns how an agent is told of its children, as its caller said, or its maker's; none if
    /// that is the root's.
    pub(super) fn callback(&self, tree: &Tree, agent: AgentId) -> Option<&CallbackConfig> {
        let mut next = Some(agent);
        while let Some(member) = next.and_then(|agent| self.get(agent)) {
            let wish = member.spec.callback_wish;
            if !wish.is_some_and(|wish| wish.inherits) {
                return Some(&member.spec.callback);
            }
            next = next.and_then(|agent| tree.get(agent)?.maker);
        }
        None
    }
}

fn shutdown() -> SessionOrder {
    SessionOrder::Operate {
        submission: SubmissionId::default(),
        op: Op::Shutdown,
    }
}
