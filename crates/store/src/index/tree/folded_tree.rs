//! What the logs of a tree tell together, folded in the order of its facts. Logs may be
//! missing, so a fact that fits nothing is left out, and the rest still counts.

use std::collections::{BTreeMap, HashMap};

use troupe_protocol::tree::{MailKind, MessageId, TaskEnding};
use troupe_protocol::{AgentId, SubmissionId};

use crate::clock::UnixMillis;
use crate::tree::{AgentRow, MailRow, MailState, RecordedStatus};

#[derive(Debug)]
pub(super) struct FoldedTree {
    agents: BTreeMap<AgentId, AgentRow>,
    inboxes: HashMap<AgentId, FoldedInbox>,
}

#[derive(Debug)]
pub(super) enum TreeEvent {
    Change {
        agent: AgentId,
        at: UnixMillis,
        change: AgentChange,
    },
    Letter {
        to: AgentId,
        message: MessageId,
        at: UnixMillis,
        kind: MailKind,
    },
    Receipt {
        by: AgentId,
        message: MessageId,
        consumed: bool,
    },
}

#[derive(Debug)]
pub(super) enum AgentChange {
    Started(SubmissionId),
    Ended(SubmissionId, TaskEnding),
    Halted(TaskEnding),
    Shut,
    Reopened,
    Released,
    Pruned,
}

impl FoldedTree {
    /// Happenings come with their place in the order of the tree, births as they happened.
    pub(super) fn of(births: Vec<AgentRow>, mut happenings: Vec<(u64, TreeEvent)>) -> Self {
        let mut told = Self {
            agents: BTreeMap::new(),
            inboxes: HashMap::new(),
        };
        for birth in births {
            told.agents.entry(birth.agent).or_insert(birth);
        }
        happenings.sort_by_key(|(order, _)| *order);
        for (_, happening) in happenings {
            told.apply(happening);
        }
        told
    }

    pub(super) fn into_agents(self) -> Vec<AgentRow> {
        let Self { agents, inboxes } = self;
        let mut agents: Vec<AgentRow> = agents.into_values().collect();
        for agent in &mut agents {
            let mail = inboxes.get(&agent.agent).into_iter();
            for mail in mail.flat_map(|inbox| &inbox.mail) {
                match (mail.state, &mail.kind) {
                    (MailState::Waiting, Some(MailKind::Interrupt { .. })) => {
                        agent.pending_interrupts += 1;
                    }
                    (MailState::Waiting, _) => agent.pending_messages += 1,
                    (MailState::Taken | MailState::Consumed | MailState::Dropped, _) => {}
                }
            }
        }
        agents
    }

    /// Returns the mail of one agent in the order in which it came.
    pub(super) fn into_mail(mut self, agent: AgentId) -> Vec<MailRow> {
        let inbox = self.inboxes.remove(&agent);
        inbox.map(|inbox| inbox.mail).unwrap_or_default()
    }

    fn apply(&mut self, happening: TreeEvent) {
        match happening {
            TreeEvent::Change { agent, at, change } => self.change(agent, at, change),
            TreeEvent::Letter {
                to,
                message,
                at,
                kind,
            } => {
                let mail = self.inboxes.entry(to).or_default().mail(message);
                if mail.kind.is_none() {
                    mail.kind = Some(kind);
                    mail.queued = Some(at);
                }
            }
            TreeEvent::Receipt {
                by,
                message,
                consumed,
            } => {
                let mail = self.inboxes.entry(by).or_default().mail(message);
                mail.state = if consumed {
                    MailState::Consumed
                } else {
                    MailState::Taken
                };
            }
        }
    }

    fn change(&mut self, id: AgentId, at: UnixMillis, change: AgentChange) {
        let Some(agent) = self.agents.get_mut(&id) else {
            return;
        };
        match change {
            AgentChange::Started(task) => {
                if matches!(
                    agent.standing,
                    RecordedStatus::PendingInit | RecordedStatus::Ended(_)
                ) {
                    agent.last_task = Some(task);
                    agent.set_status(RecordedStatus::Running, at);
                }
            }
            AgentChange::Ended(task, end) => {
                if agent.ends(&task) {
                    agent.last_task = Some(task);
                    agent.end(end, at);
                    self.drop_input(id, end);
                }
            }
            AgentChange::Halted(end) => {
                if matches!(agent.standing, RecordedStatus::Ended(_)) {
                    agent.end(end, at);
                    self.drop_input(id, end);
                }
            }
            AgentChange::Shut => {
                if agent.standing != RecordedStatus::Running {
                    agent.set_status(RecordedStatus::Shutdown, at);
                }
            }
            AgentChange::Reopened => {
                agent.is_pruned = false;
                if agent.standing == RecordedStatus::Shutdown {
                    let before = agent
                        .last_end
                        .map_or(RecordedStatus::PendingInit, RecordedStatus::Ended);
                    agent.set_status(before, at);
                }
            }
            AgentChange::Released => agent.parent = None,
            AgentChange::Pruned => agent.is_pruned = true,
        }
    }

    /// A cancelled agent loses its input but not the results that are owed to it. Any other
    /// end takes away only the message whose task ended before it began.
    fn drop_input(&mut self, id: AgentId, end: TaskEnding) {
        let last_task = self
            .agents
            .get(&id)
            .and_then(|agent| agent.last_task.as_ref());
        let Some(inbox) = self.inboxes.get_mut(&id) else {
            return;
        };
        for mail in &mut inbox.mail {
            let is_input = mail.kind.as_ref().is_some_and(MailKind::joins_task);
            let is_meant = matches!(end, TaskEnding::Cancelled { .. })
                || last_task.is_some_and(|task| mail.message.task() == *task);
            if mail.state == MailState::Waiting && is_input && is_meant {
                mail.state = MailState::Dropped;
            }
        }
    }
}

impl AgentRow {
    fn set_status(&mut self, standing: RecordedStatus, at: UnixMillis) {
        self.standing = standing;
        self.since = at;
    }

    fn end(&mut self, end: TaskEnding, at: UnixMillis) {
        self.last_end = Some(end);
        self.set_status(RecordedStatus::Ended(end), at);
    }

    /// A task may end before it began, but none ends twice.
    fn ends(&self, task: &SubmissionId) -> bool {
        let is_last = self.last_task.as_ref() == Some(task);
        match self.standing {
            RecordedStatus::PendingInit => true,
            RecordedStatus::Running => is_last,
            RecordedStatus::Ended(_) => !is_last,
            RecordedStatus::Shutdown => false,
        }
    }
}

#[derive(Debug, Default)]
struct FoldedInbox {
    mail: Vec<MailRow>,
    places: HashMap<MessageId, usize>,
}

impl FoldedInbox {
    /// Returns the row of a message, which is made if this is the first that is heard of it.
    fn mail(&mut self, message: MessageId) -> &mut MailRow {
        let place = *self.places.entry(message).or_insert(self.mail.len());
        if place == self.mail.len() {
            self.mail.push(MailRow {
                message,
                kind: None,
                queued: None,
                state: MailState::Waiting,
            });
        }
        &mut self.mail[place]
    }
}
