//! One child, as far as it is more than its place in the tree.

use std::collections::VecDeque;
use std::sync::Arc;

use troupe_engine::{EventTap, OrderSender, SessionHandle, SessionOrder};
use troupe_protocol::AgentId;
use troupe_protocol::result::TaskResult;
use troupe_protocol::spawn::SpawnSpec;
use troupe_protocol::usage::TokenUsage;

use super::host::TreeMembership;

#[derive(Debug)]
pub(super) struct TreeMember {
    pub spec: Arc<SpawnSpec>,
    pub presence: SessionPresence,
    /// Whether it has a log; without one the session begins anew.
    pub has_log: bool,
    pub note: Option<String>,
    /// What its conversation is called, if somebody gave it a name.
    pub name: Option<String>,
    /// The beginning of the last message or the error, in one line.
    pub preview: Option<String>,
    /// Of the last ended task, as long as the session is in memory.
    pub last_result: Option<Arc<TaskResult>>,
    /// How long its last task ran that has ended.
    pub ran_ms: Option<u64>,
    pub reasoning_header: Option<String>,
    /// Of all ended tasks.
    pub usage: TokenUsage,
    /// What it was made for has come to its end, whatever it does now.
    pub has_answered: bool,
    /// Why it was stopped, in somebody's words.
    pub stop_note: Option<String>,
}

/// Whether the session of an agent is in memory.
#[derive(Debug)]
pub(super) enum SessionPresence {
    Absent,
    Loading(LoadingSession),
    Present(PresentSession),
    /// Its log is not free yet. Orders that come meanwhile wait for the next load.
    Leaving(VecDeque<SessionOrder>),
}

impl SessionPresence {
    /// Returns what the diagnostic log calls it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Loading(_) => "loading",
            Self::Present(_) => "present",
            Self::Leaving(_) => "leaving",
        }
    }
}

#[derive(Debug)]
pub(super) struct LoadingSession {
    /// Given once it is open.
    pub orders: VecDeque<SessionOrder>,
    pub membership: Arc<TreeMembership>,
    pub task: tokio_util::task::AbortOnDropHandle<()>,
}

#[derive(Debug)]
pub(super) struct PresentSession {
    pub orders: OrderSender,
    pub membership: Arc<TreeMembership>,
    /// It arrives a moment after the session has opened.
    pub open: Option<OpenSession>,
}

/// A child's session, as whoever opened it has it.
#[derive(Debug)]
pub(crate) struct OpenSession {
    /// Dropping it ends the session.
    pub _handle: SessionHandle,
    pub events: EventTap,
}

impl TreeMember {
    pub(super) fn new(spec: Arc<SpawnSpec>) -> Self {
        Self {
            spec,
            presence: SessionPresence::Absent,
            has_log: false,
            note: None,
            name: None,
            preview: None,
            last_result: None,
            ran_ms: None,
            reasoning_header: None,
            usage: TokenUsage::default(),
            has_answered: false,
            stop_note: None,
        }
    }

    /// Changes whether the session is in memory.
    pub(super) fn enter(&mut self, agent: AgentId, presence: SessionPresence) {
        let (from, to) = (self.presence.name(), presence.name());
        tracing::debug!(%agent, from, to, "the presence of a session changes");
        self.presence = presence;
    }

    pub(super) fn is_present(&self) -> bool {
        !matches!(self.presence, SessionPresence::Absent)
    }

    /// Returns what shows the session at work, if it is in memory.
    pub(super) fn membership(&self) -> Option<&TreeMembership> {
        match &self.presence {
            SessionPresence::Present(present) => Some(&present.membership),
            SessionPresence::Loading(loading) => Some(&loading.membership),
            SessionPresence::Absent | SessionPresence::Leaving(_) => None,
        }
    }
}
