//! What the logs of a tree tell together, folded in the order of its facts. Logs may be
//! missing, so a fact that fits nothing is left out, and the rest still counts.

use std::collections::{BTreeMap, HashMap};

use troupe_protocol::tree::{End, MailKind, MessageId};
use troupe_protocol::{AgentId, SubmissionId};

use crate::clock::UnixMillis;
use crate::tree::{AgentRow, MailRow, MailState, Standing};

#[derive(Debug)]
pub(super) struct Told {
    agents: BTreeMap<AgentId, AgentRow>,
    inboxes: HashMap<AgentId, Inbox>,
}

#[derive(Debug)]
pub(super) enum Happening {
    Change {
        agent: AgentId,
        at: UnixMillis,
        change: Change,
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
pub(super) enum Change {
    Started(SubmissionId),
    Ended(SubmissionId, End),
    Halted(End),
    Shut,
    Reopened,
    Released,
    Pruned,
}

impl Told {
    /// Happenings come with their place in the order of the tree, births as they happened.
    pub(super) fn of(births: Vec<AgentRow>, mut happenings: Vec<(u64, Happening)>) -> Self {
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

    fn apply(&mut self, happening: Happening) {
        match happening {
            Happening::Change { agent, at, change } => self.change(agent, at, change),
            Happening::Letter {
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
            Happening::Receipt {
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

    fn change(&mut self, id: AgentId, at: UnixMillis, change: Change) {
        let Some(agent) = self.agents.get_mut(&id) else {
            return;
        };
        match change {
            Change::Started(task) => {
                if matches!(agent.standing, Standing::PendingInit | Standing::Ended(_)) {
                    agent.last_task = Some(task);
                    agent.stand(Standing::Running, at);
                }
            }
            Change::Ended(task, end) => {
                if agent.ends(&task) {
                    agent.last_task = Some(task);
                    agent.end(end, at);
                    self.drop_input(id, end);
                }
            }
            Change::Halted(end) => {
                if matches!(agent.standing, Standing::Ended(_)) {
                    agent.end(end, at);
                    self.drop_input(id, end);
                }
            }
            Change::Shut => {
                if agent.standing != Standing::Running {
                    agent.stand(Standing::Shutdown, at);
                }
            }
            Change::Reopened => {
                agent.is_pruned = false;
                if agent.standing == Standing::Shutdown {
                    let before = agent
                        .last_end
                        .map_or(Standing::PendingInit, Standing::Ended);
                    agent.stand(before, at);
                }
            }
            Change::Released => agent.parent = None,
            Change::Pruned => agent.is_pruned = true,
        }
    }

    /// A cancelled agent loses its input but not the results that are owed to it. Any other
    /// end takes away only the message whose task ended before it began.
    fn drop_input(&mut self, id: AgentId, end: End) {
        let last_task = self
            .agents
            .get(&id)
            .and_then(|agent| agent.last_task.as_ref());
        let Some(inbox) = self.inboxes.get_mut(&id) else {
            return;
        };
        for mail in &mut inbox.mail {
            let is_input = mail.kind.as_ref().is_some_and(MailKind::joins_task);
            let is_meant = matches!(end, End::Cancelled { .. })
                || last_task.is_some_and(|task| mail.message.task() == *task);
            if mail.state == MailState::Waiting && is_input && is_meant {
                mail.state = MailState::Dropped;
            }
        }
    }
}

impl AgentRow {
    fn stand(&mut self, standing: Standing, at: UnixMillis) {
        self.standing = standing;
        self.since = at;
    }

    fn end(&mut self, end: End, at: UnixMillis) {
        self.last_end = Some(end);
        self.stand(Standing::Ended(end), at);
    }

    /// A task may end before it began, but none ends twice.
    fn ends(&self, task: &SubmissionId) -> bool {
        let is_last = self.last_task.as_ref() == Some(task);
        match self.standing {
            Standing::PendingInit => true,
            Standing::Running => is_last,
            Standing::Ended(_) => !is_last,
            Standing::Shutdown => false,
        }
    }
}

#[derive(Debug, Default)]
struct Inbox {
    mail: Vec<MailRow>,
    places: HashMap<MessageId, usize>,
}

impl Inbox {
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
