//! One member of the tree, as far as it is kept.

use serde::{Deserialize, Serialize};
use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::{AgentId, SessionId, SubmissionId};

use super::id::{Caller, MessageId, TimeMs};
use super::inbox::{Inbox, TakeCallbacks};
use super::lifecycle::{Interruption, Lifecycle};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub id: AgentId,
    pub session: SessionId,
    /// The immediate caller, which hears of results. None for the root and for the released.
    pub parent: Option<AgentId>,
    /// In the order of their birth; released ones have left.
    pub children: Vec<AgentId>,
    pub path: String,
    pub depth: u32,
    /// None for the root.
    pub genealogy: Option<Genealogy>,
    pub bond: Bond,
    pub born_at: TimeMs,
    pub lifecycle: Lifecycle,
    /// When the lifecycle changed last.
    pub since: TimeMs,
    pub inbox: Inbox,
    /// A stop that the running task has not answered yet.
    pub stop: Option<StopOrder>,
    pub place: Place,
}

/// How an agent came to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Genealogy {
    pub origin: AgentOrigin,
    /// Where in the parent's conversation it was spawned or forked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<SpawnPoint>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnPoint {
    pub task: SubmissionId,
    pub message_index: u32,
}

/// What ties a child to its parent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bond {
    pub callback: CallbackMode,
    pub on_parent_interrupt: OnParentInterrupt,
    pub reach: Reach,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallbackMode {
    Off,
    /// The first end of a task only.
    Once,
    #[default]
    Persistent,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnParentInterrupt {
    #[default]
    KeepRunning,
    Cancel,
}

/// Whom an agent may write to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    #[default]
    Subtree,
    /// Its parent and its siblings too.
    Family,
}

/// A stop on its way to a running task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopOrder {
    Interrupt { why: Interruption },
    Cancel { by: Caller, scope: AgentId },
    Close { by: Caller, scope: AgentId },
}

impl StopOrder {
    /// Tells whether the agent takes no more input because of it.
    pub fn ends_input(self) -> bool {
        match self {
            Self::Interrupt { .. } => false,
            Self::Cancel { .. } | Self::Close { .. } => true,
        }
    }

    /// A later order replaces an earlier one only if it goes further.
    pub fn exceeds(self, earlier: Option<Self>) -> bool {
        let rank = |order| match order {
            Self::Interrupt { .. } => 1,
            Self::Cancel { .. } => 2,
            Self::Close { .. } => 3,
        };
        earlier.is_none_or(|earlier| rank(self) > rank(earlier))
    }
}

/// Whether an agent is part of the live tree or only remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Live,
    Pruned,
}

impl Agent {
    /// Returns the message that would start this agent's next task.
    pub fn next_input(&self) -> Option<MessageId> {
        let stopped = self.stop.is_some_and(StopOrder::ends_input);
        if stopped { None } else { self.first_mail() }
    }

    /// Returns the message at the head of the inbox, whether or not a stop is on its way.
    pub fn first_mail(&self) -> Option<MessageId> {
        if self.place == Place::Pruned || self.lifecycle.is_shutdown() {
            return None;
        }
        let callbacks = if self.lifecycle.takes_callbacks() {
            TakeCallbacks::Yes
        } else {
            TakeCallbacks::Held
        };
        self.inbox.next(callbacks).map(|envelope| envelope.id)
    }

    /// Tells whether the agent counts against `max_agents`.
    pub fn is_counted(&self) -> bool {
        self.place == Place::Live && !self.lifecycle.is_shutdown()
    }
}
