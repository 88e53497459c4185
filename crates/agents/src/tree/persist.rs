//! How written facts fold to the memory. Nothing else changes it, so a restart that folds
//! the same facts ends where the running tree was.

use thiserror::Error;
use troupe_protocol::{AgentId, SessionId, SubmissionId};

use super::agent::{Agent, Bond, CallbackMode, Place};
use super::id::{MessageId, TimeMs};
use super::inbox::{Envelope, Inbox, MailKind};
use super::lifecycle::{Change, End, IllegalChange, Lifecycle};
use super::memory::Memory;
use super::news::{Item, News};

pub use troupe_protocol::tree::{Birth, Callback, Fact, Keepsake, Record};

/// A fact that does not fit the memory: a line before it is missing or was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Misfit {
    #[error("agent {0} is not known")]
    UnknownAgent(AgentId),
    #[error("agent {0} or its session or path is known already")]
    KnownAgent(AgentId),
    #[error("message {0} is not in the inbox of agent {1}")]
    UnknownMessage(MessageId, AgentId),
    #[error(transparent)]
    IllegalChange(#[from] IllegalChange),
}

impl Memory {
    /// Applies one fact, as far as it fits. Counters never go back.
    pub fn fold(&mut self, record: &Record) -> Result<(), Misfit> {
        self.next_order = self.next_order.max(record.order.saturating_add(1));
        if let Some(agent) = named(&record.fact) {
            // Its birth may be a line that was lost; its number is spent all the same.
            self.spend_numbers(Some(agent));
        }
        let at = record.at;
        match &record.fact {
            Fact::Rooted {
                session,
                taken_paths,
                ..
            } => {
                self.taken_paths.extend(taken_paths.iter().cloned());
                self.insert(root(*session, at))
            }
            Fact::Born(birth) => self.fold_birth(birth, at),
            Fact::Sent { to, envelope } => {
                self.known_mut(*to)?.inbox.put(envelope.clone());
                Ok(())
            }
            Fact::Started {
                agent,
                task,
                message,
            } => self.fold_start(*agent, task, *message, at),
            Fact::Took { agent, messages } => self.fold_take(*agent, messages),
            Fact::Consumed { agent, messages } => self.fold_hearing(*agent, messages),
            Fact::Ended {
                agent,
                task,
                end,
                callback,
            } => self.fold_end(*agent, task, *end, *callback, at),
            Fact::Halted { agent, end } => self.fold_halt(*agent, *end, at),
            Fact::Withdrawn { agent } => {
                self.known_mut(*agent)?.stop = None;
                Ok(())
            }
            Fact::StopAsked { agent, stop, .. } => {
                self.known_mut(*agent)?.stop = Some(*stop);
                Ok(())
            }
            Fact::Shut { agent } => self.known_mut(*agent)?.shut(at),
            Fact::Reopened { agent } => self.fold_reopening(*agent),
            Fact::Released { agent } => self.fold_release(*agent),
            Fact::Pruned { agent } => {
                self.known_mut(*agent)?.place = Place::Pruned;
                Ok(())
            }
            Fact::Rebound { agent, callback } => {
                self.known_mut(*agent)?.bond.callback = *callback;
                Ok(())
            }
            Fact::Kept(_) => Ok(()),
        }
    }

    /// Puts an agent back whose birth is not among the facts any more.
    pub(super) fn put_back(&mut self, birth: &Birth, at: TimeMs) -> Result<(), Misfit> {
        self.fold_birth(birth, at)
    }

    fn fold_birth(&mut self, birth: &Birth, at: TimeMs) -> Result<(), Misfit> {
        let depth = self.known_mut(birth.parent)?.depth + 1;
        let mut inbox = Inbox::default();
        if let Some(first) = &birth.first {
            inbox.put(first.clone());
        }
        self.insert(Agent {
            id: birth.agent,
            session: birth.session,
            parent: Some(birth.parent),
            maker: Some(birth.parent),
            children: Vec::new(),
            path: birth.path.clone(),
            depth,
            genealogy: Some(birth.genealogy.clone()),
            bond: birth.bond,
            born_at: at,
            lifecycle: Lifecycle::PendingInit,
            since: at,
            open_since: at,
            tasks: 0,
            task_since: at,
            inbox,
            news: News::default(),
            stop: None,
            place: Place::Live,
        })?;
        self.known_mut(birth.parent)?.children.push(birth.agent);
        Ok(())
    }

    fn fold_start(
        &mut self,
        agent: AgentId,
        task: &SubmissionId,
        message: Option<MessageId>,
        at: TimeMs,
    ) -> Result<(), Misfit> {
        let node = self.known_mut(agent)?;
        node.change(Change::Start { task: task.clone() }, at)?;
        node.tasks = node.tasks.saturating_add(1);
        node.task_since = at;
        match message {
            None => Ok(()),
            Some(message) => match node.take(message) {
                Some(_) => Ok(()),
                None => Err(Misfit::UnknownMessage(message, agent)),
            },
        }
    }

    fn fold_take(&mut self, agent: AgentId, messages: &[MessageId]) -> Result<(), Misfit> {
        let node = self.known_mut(agent)?;
        let mut missing = None;
        for message in messages {
            if node.inbox.take(*message).is_none() {
                missing = Some(*message);
            }
        }
        match missing {
            None => Ok(()),
            Some(message) => Err(Misfit::UnknownMessage(message, agent)),
        }
    }

    /// What a wait told is old, and the callback that would have told it is gone.
    fn fold_hearing(&mut self, agent: AgentId, messages: &[MessageId]) -> Result<(), Misfit> {
        let node = self.known_mut(agent)?;
        let mut missing = None;
        for message in messages {
            let was_news = node.news.take(*message);
            if node.inbox.take(*message).is_none() && !was_news {
                missing = Some(*message);
            }
        }
        match missing {
            None => Ok(()),
            Some(message) => Err(Misfit::UnknownMessage(message, agent)),
        }
    }

    fn fold_end(
        &mut self,
        agent: AgentId,
        task: &SubmissionId,
        end: End,
        callback: Option<Callback>,
        at: TimeMs,
    ) -> Result<(), Misfit> {
        // A result counts even if a line before it was lost, so it goes first.
        if let Some(Callback { id, target }) = callback {
            let kind = MailKind::Callback {
                child: agent,
                task: task.clone(),
            };
            self.known_mut(target)?.inbox.put(Envelope { id, kind });
        }
        self.fold_news(agent, task, end);
        let node = self.known_mut(agent)?;
        if callback.is_some() && node.bond.callback == CallbackMode::Once {
            node.bond.callback = CallbackMode::Off;
        }
        if !node.lifecycle.is_running() {
            node.end_unbegun(at);
        }
        let task = task.clone();
        node.change(Change::End { task, end }, at)?;
        node.stop = None;
        node.drop_input_of_ended_task();
        node.drop_input_by(end);
        Ok(())
    }

    /// Keeps an end for the parent, whether or not a callback tells it.
    fn fold_news(&mut self, child: AgentId, task: &SubmissionId, end: End) {
        let told = self.get(child).and_then(|node| {
            let parent = node.parent.filter(|parent| end.calls_back(child, *parent));
            Some((node.session, parent?))
        });
        if let Some((session, parent)) = told
            && let Ok(parent) = self.known_mut(parent)
        {
            let id = MessageId::of_callback(session, task, parent.session);
            let task = task.clone();
            parent.news.put(Item {
                id,
                child,
                task,
                end,
            });
        }
    }

    fn fold_halt(&mut self, agent: AgentId, end: End, at: TimeMs) -> Result<(), Misfit> {
        let node = self.known_mut(agent)?;
        let change = match node.lifecycle {
            // A root without a task of its own: the one that it did not begin has ended.
            Lifecycle::PendingInit => node.first_callback().map(|callback| Change::End {
                task: callback.task(),
                end,
            }),
            _ => None,
        };
        let change = change.unwrap_or(Change::Halt { end });
        node.change(change, at)?;
        node.stop = None;
        node.drop_input_by(end);
        Ok(())
    }

    /// An agent is back as it stood: nothing has happened to it meanwhile.
    fn fold_reopening(&mut self, agent: AgentId) -> Result<(), Misfit> {
        let node = self.known_mut(agent)?;
        node.place = Place::Live;
        if node.lifecycle.is_shutdown() {
            node.change(Change::Reopen, node.open_since)?;
        }
        Ok(())
    }

    fn fold_release(&mut self, agent: AgentId) -> Result<(), Misfit> {
        let Some(parent) = self.known_mut(agent)?.parent.take() else {
            return Ok(());
        };
        self.known_mut(parent)?
            .children
            .retain(|child| *child != agent);
        Ok(())
    }

    fn known_mut(&mut self, agent: AgentId) -> Result<&mut Agent, Misfit> {
        self.agents
            .get_mut(&agent)
            .map(Box::as_mut)
            .ok_or(Misfit::UnknownAgent(agent))
    }
}

impl Agent {
    /// Takes a message that begins a task; what a callback tells is old by that.
    fn take(&mut self, message: MessageId) -> Option<Envelope> {
        self.news.take(message);
        self.inbox.take(message)
    }

    fn first_callback(&self) -> Option<MessageId> {
        let mut mail = self.inbox.iter();
        mail.find(|mail| matches!(mail.kind, MailKind::Callback { .. }))
            .map(|mail| mail.id)
    }

    fn shut(&mut self, at: TimeMs) -> Result<(), Misfit> {
        let since = self.since;
        self.change(Change::Shut, at)?;
        self.open_since = since;
        Ok(())
    }

    /// Counts a task that ends before it began. The first one has lasted since the birth.
    fn end_unbegun(&mut self, at: TimeMs) {
        if self.tasks > 0 {
            self.task_since = at;
        }
        self.tasks = self.tasks.saturating_add(1);
    }

    fn change(&mut self, change: Change, at: TimeMs) -> Result<(), Misfit> {
        self.lifecycle = self.lifecycle.after(change)?;
        self.since = at;
        Ok(())
    }

    /// Takes the input away that an end leaves no use for. A cancel is for all that was asked;
    /// after any other stop nobody but a person or an agent makes it go on.
    fn drop_input_by(&mut self, end: End) {
        match end {
            End::Cancelled { .. } => self.inbox.drop_input(),
            End::Interrupted { .. } | End::FailedToStart | End::BudgetExceeded => {
                self.inbox.drop_pings();
            }
            End::Completed | End::Errored | End::Replaced => {}
        }
    }

    /// Takes the input away whose task ended before it began.
    fn drop_input_of_ended_task(&mut self) {
        let Lifecycle::Ended { task, .. } = &self.lifecycle else {
            return;
        };
        let left = self
            .inbox
            .iter()
            .find(|mail| mail.kind.joins_task() && mail.id.task() == *task);
        if let Some(id) = left.map(|mail| mail.id) {
            self.inbox.take(id);
        }
    }
}

fn root(session: SessionId, at: TimeMs) -> Agent {
    Agent {
        id: AgentId::ROOT,
        session,
        parent: None,
        maker: None,
        children: Vec::new(),
        path: super::address::ROOT_PATH.to_owned(),
        depth: 0,
        genealogy: None,
        bond: Bond {
            callback: CallbackMode::Off,
            ..Bond::default()
        },
        born_at: at,
        lifecycle: Lifecycle::PendingInit,
        since: at,
        open_since: at,
        tasks: 0,
        task_since: at,
        inbox: Inbox::default(),
        news: News::default(),
        stop: None,
        place: Place::Live,
    }
}

/// Returns the agent that a fact is about.
fn named(fact: &Fact) -> Option<AgentId> {
    match fact {
        Fact::Rooted { above, .. } => *above,
        Fact::Kept(Keepsake::Callback(_) | Keepsake::Enabled { .. }) => None,
        Fact::Born(birth) => Some(birth.agent),
        Fact::Sent { to, .. } => Some(*to),
        Fact::Started { agent, .. }
        | Fact::Took { agent, .. }
        | Fact::Ended { agent, .. }
        | Fact::Halted { agent, .. }
        | Fact::Withdrawn { agent }
        | Fact::Consumed { agent, .. }
        | Fact::StopAsked { agent, .. }
        | Fact::Shut { agent }
        | Fact::Reopened { agent }
        | Fact::Released { agent }
        | Fact::Pruned { agent }
        | Fact::Rebound { agent, .. }
        | Fact::Kept(Keepsake::Note { agent, .. } | Keepsake::Name { agent, .. }) => Some(*agent),
        Fact::Kept(Keepsake::Watchdog { target, .. } | Keepsake::WatchdogOff { target, .. }) => {
            Some(*target)
        }
    }
}

/// Returns the agents whose mail a fact may change.
pub(super) fn recipients(fact: &Fact) -> [Option<AgentId>; 2] {
    match fact {
        Fact::Sent { to, .. } => [Some(*to), None],
        Fact::Ended {
            agent, callback, ..
        } => [Some(*agent), callback.map(|callback| callback.target)],
        Fact::Started { agent, .. }
        | Fact::Took { agent, .. }
        | Fact::Halted { agent, .. }
        | Fact::Consumed { agent, .. } => [Some(*agent), None],
        // The first message of a child is told with its creation.
        Fact::Rooted { .. }
        | Fact::Born(_)
        | Fact::Withdrawn { .. }
        | Fact::StopAsked { .. }
        | Fact::Shut { .. }
        | Fact::Reopened { .. }
        | Fact::Released { .. }
        | Fact::Pruned { .. }
        | Fact::Rebound { .. }
        | Fact::Kept(_) => [None, None],
    }
}
