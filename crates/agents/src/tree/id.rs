//! The names that the tree gives or takes: messages, waits, moments, callers.

use std::fmt;

use serde::{Deserialize, Serialize};
use troupe_protocol::{AgentId, SessionId, SubmissionId};
use uuid::Uuid;

/// A moment in Unix milliseconds. The tree has no clock: each command brings its own.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TimeMs(pub i64);

/// Names one message, wherever it stands. Contents stay outside of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MessageId(pub Uuid);

impl MessageId {
    /// Derives the id of a callback from what it tells and whom. Telling it again, from
    /// whichever path, gives the same id and therefore the same message.
    pub fn of_callback(child: SessionId, task: &SubmissionId, target: SessionId) -> Self {
        let mut name = Vec::with_capacity(16 + task.as_str().len());
        name.extend_from_slice(target.0.as_bytes());
        name.extend_from_slice(task.as_str().as_bytes());
        Self(Uuid::new_v5(&child.0, &name))
    }

    /// Returns the id of the task that this message starts when it starts one.
    pub fn task(self) -> SubmissionId {
        SubmissionId(self.0.to_string())
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names one open wait of the running process. Waits end with it, so this is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitId(pub u64);

/// On whose behalf a command comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    User,
    /// The model of this agent, through a tool.
    Agent(AgentId),
}

impl Caller {
    /// Returns the agent in whose log the caller's deeds are written. The user speaks
    /// through the root.
    pub fn log(self) -> AgentId {
        match self {
            Self::User => AgentId::ROOT,
            Self::Agent(agent) => agent,
        }
    }
}
