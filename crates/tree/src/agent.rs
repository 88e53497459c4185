//! One member of the tree, as far as it is kept.

use troupe_protocol::tree::{
    Genealogy, MailKind, MessageId, ParentLink, StopOrder, TaskEnding, TimeMs,
};
use troupe_protocol::{AgentId, SessionId};

use crate::inbox::{Inbox, TakeCallbacks};
use crate::lifecycle::Lifecycle;
use crate::unheard_ends::UnheardEnds;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRecord {
    pub id: AgentId,
    pub session: SessionId,
    /// The immediate caller, which hears of results. None for the root and for the released.
    pub parent: Option<AgentId>,
    /// Who made it, also after it was released: a fork goes on with what it shares. None for
    /// the root.
    pub maker: Option<AgentId>,
    /// In the order of their birth; released ones have left.
    pub children: Vec<AgentId>,
    pub path: String,
    pub depth: u32,
    /// None for the root.
    pub genealogy: Option<Genealogy>,
    pub bond: ParentLink,
    pub born_at: TimeMs,
    pub lifecycle: Lifecycle,
    /// When the lifecycle changed last.
    pub since: TimeMs,
    /// When it had changed last before the agent was closed.
    pub open_since: TimeMs,
    /// Tasks so far, with those that ended before they began.
    pub tasks: u32,
    /// When the last of them began; the birth before the first.
    pub task_since: TimeMs,
    pub inbox: Inbox,
    pub news: UnheardEnds,
    /// A stop that the running task has not answered yet.
    pub stop: Option<StopOrder>,
    pub place: AgentLiveness,
}

/// Whether an agent is part of the live tree or only remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentLiveness {
    Live,
    Pruned,
    /// Its log is gone, found so when the tree was restored. Not kept: a log that is put back
    /// counts again.
    Lost,
}

impl AgentRecord {
    /// Returns the message that would start this agent's next task.
    pub fn next_input(&self) -> Option<MessageId> {
        let stopped = self.stop.is_some_and(StopOrder::ends_input);
        if stopped { None } else { self.first_mail() }
    }

    /// Returns the message at the head of the inbox, whether or not a stop is on its way.
    pub fn first_mail(&self) -> Option<MessageId> {
        if self.place != AgentLiveness::Live || self.lifecycle.is_shutdown() {
            return None;
        }
        let callbacks = if self.lifecycle.takes_callbacks() {
            TakeCallbacks::Yes
        } else {
            TakeCallbacks::Held
        };
        self.inbox.next(callbacks).map(|envelope| envelope.id)
    }

    /// Returns what the task that begins with this message is told before it, the oldest
    /// first. An interrupt takes the place of work that had not begun, but not of its words:
    /// without them it would speak of what nobody has heard. What was to join a task that
    /// was replaced follows the interrupt, as mail does.
    pub fn ahead_of(&self, message: MessageId) -> Vec<MessageId> {
        let older = match self.inbox.find(message).map(|mail| &mail.kind) {
            Some(MailKind::Interrupt { .. }) => self.inbox.older_than(message),
            Some(MailKind::Regular { .. } | MailKind::Callback { .. }) | None => return Vec::new(),
        };
        let replaces = matches!(
            self.lifecycle,
            Lifecycle::Ended {
                end: TaskEnding::Replaced,
                ..
            }
        );
        older
            .filter(|older| match older.kind {
                MailKind::Interrupt { .. } => true,
                MailKind::Regular { .. } => !replaces,
                MailKind::Callback { .. } => false,
            })
            .map(|older| older.id)
            .collect()
    }

    /// Tells whether a child never ran and has nothing to begin with.
    pub fn is_ready(&self) -> bool {
        let is_child = self.genealogy.is_some();
        let is_new = matches!(self.lifecycle, Lifecycle::PendingInit);
        is_child && is_new && self.inbox.is_empty()
    }

    /// Tells whether the agent counts against `max_agents`.
    pub fn is_counted(&self) -> bool {
        self.place == AgentLiveness::Live && !self.lifecycle.is_shutdown()
    }
}
