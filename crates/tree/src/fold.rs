//! How written facts fold to the memory. Nothing else changes it, so a restart that folds
//! the same facts ends where the running tree was.

use thiserror::Error;
use troupe_protocol::tree::{
    AgentBirth, AgentMetadata, Callback, CallbackMode, MailEnvelope, MailKind, MessageId,
    ParentLink, TaskEnding, TimeMs, TreeFact, TreeRecord,
};
use troupe_protocol::{AgentId, SessionId, SubmissionId};

use crate::agent::{AgentLiveness, AgentRecord};
use crate::inbox::Inbox;
use crate::lifecycle::{IllegalChange, Lifecycle, LifecycleChange};
use crate::memory::TreeMemory;
use crate::unheard_ends::{UnheardEnd, UnheardEnds};

/// A fact that does not fit the memory: a line before it is missing or was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FoldError {
    #[error("agent {0} is not known")]
    UnknownAgent(AgentId),
    #[error("agent {0} or its session or path is known already")]
    KnownAgent(AgentId),
    #[error("message {0} is not in the inbox of agent {1}")]
    UnknownMessage(MessageId, AgentId),
    #[error(transparent)]
    IllegalChange(#[from] IllegalChange),
}

impl TreeMemory {
    /// Applies one fact, as far as it fits. Counters never go back.
    pub fn fold(&mut self, record: &TreeRecord) -> Result<(), FoldError> {
        self.next_order = self.next_order.max(record.order.saturating_add(1));
        if let Some(agent) = named(&record.fact) {
            // Its birth may be a line that was lost; its number is spent all the same.
            self.spend_numbers(Some(agent));
        }
        let at = record.at;
        match &record.fact {
            TreeFact::Rooted {
                session,
                taken_paths,
                ..
            } => {
                self.taken_paths.extend(taken_paths.iter().cloned());
                self.insert(root(*session, at))
            }
            TreeFact::Born(birth) => self.fold_birth(birth, at),
            TreeFact::Sent { to, envelope } => {
                self.known_mut(*to)?.inbox.put(envelope.clone());
                Ok(())
            }
            TreeFact::Started {
                agent,
                task,
                message,
            } => self.fold_start(*agent, task, *message, at),
            TreeFact::Took { agent, messages } => self.fold_take(*agent, messages),
            TreeFact::Consumed { agent, messages } => self.fold_hearing(*agent, messages),
            TreeFact::Ended {
                agent,
                task,
                end,
                callback,
            } => self.fold_end(*agent, task, *end, *callback, at),
            TreeFact::Halted { agent, end } => self.fold_halt(*agent, *end, at),
            TreeFact::Withdrawn { agent } => {
                self.known_mut(*agent)?.stop = None;
                Ok(())
            }
            TreeFact::StopAsked { agent, stop, .. } => {
                self.known_mut(*agent)?.stop = Some(*stop);
                Ok(())
            }
            TreeFact::Shut { agent } => self.known_mut(*agent)?.shut(at),
            TreeFact::Reopened { agent } => self.fold_reopening(*agent),
            TreeFact::Released { agent } => self.fold_release(*agent),
            TreeFact::Pruned { agent } => {
                self.known_mut(*agent)?.place = AgentLiveness::Pruned;
                Ok(())
            }
            TreeFact::Rebound { agent, callback } => {
                self.known_mut(*agent)?.bond.callback = *callback;
                Ok(())
            }
            TreeFact::Kept(_) => Ok(()),
        }
    }

    /// Puts an agent back whose birth is not among the facts any more.
    pub(crate) fn put_back(&mut self, birth: &AgentBirth, at: TimeMs) -> Result<(), FoldError> {
        self.fold_birth(birth, at)
    }

    fn fold_birth(&mut self, birth: &AgentBirth, at: TimeMs) -> Result<(), FoldError> {
        let depth = self.known_mut(birth.parent)?.depth + 1;
        let mut inbox = Inbox::default();
        if let Some(first) = &birth.first {
            inbox.put(first.clone());
        }
        self.insert(AgentRecord {
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
            news: UnheardEnds::default(),
            stop: None,
            place: AgentLiveness::Live,
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
    ) -> Result<(), FoldError> {
        let node = self.known_mut(agent)?;
        node.change(LifecycleChange::Start { task: task.clone() }, at)?;
        node.tasks = node.tasks.saturating_add(1);
        node.task_since = at;
        match message {
            None => Ok(()),
            Some(message) => match node.take(message) {
                Some(_) => Ok(()),
                None => Err(FoldError::UnknownMessage(message, agent)),
            },
        }
    }

    fn fold_take(&mut self, agent: AgentId, messages: &[MessageId]) -> Result<(), FoldError> {
        let node = self.known_mut(agent)?;
        let mut missing = None;
        for message in messages {
            if node.inbox.take(*message).is_none() {
                missing = Some(*message);
            }
        }
        match missing {
            None => Ok(()),
            Some(message) => Err(FoldError::UnknownMessage(message, agent)),
        }
    }

    /// What a wait told is old, and the callback that would have told it is gone.
    fn fold_hearing(&mut self, agent: AgentId, messages: &[MessageId]) -> Result<(), FoldError> {
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
            Some(message) => Err(FoldError::UnknownMessage(message, agent)),
        }
    }

    fn fold_end(
        &mut self,
        agent: AgentId,
        task: &SubmissionId,
        end: TaskEnding,
        callback: Option<Callback>,
        at: TimeMs,
    ) -> Result<(), FoldError> {
        // A result counts even if a line before it was lost, so it goes first.
        if let Some(Callback { id, target }) = callback {
            let kind = MailKind::Callback {
                child: agent,
                task: task.clone(),
            };
            self.known_mut(target)?.inbox.put(MailEnvelope { id, kind });
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
        node.change(LifecycleChange::End { task, end }, at)?;
        node.stop = None;
        node.drop_input_of_ended_task();
        node.drop_input_by(end);
        Ok(())
    }

    /// Keeps an end for the parent, whether or not a callback tells it.
    fn fold_news(&mut self, child: AgentId, task: &SubmissionId, end: TaskEnding) {
        let told = self.get(child).and_then(|node| {
            let parent = node.parent.filter(|parent| end.calls_back(child, *parent));
            Some((node.session, parent?))
        });
        if let Some((session, parent)) = told
            && let Ok(parent) = self.known_mut(parent)
        {
            let id = MessageId::of_callback(session, task, parent.session);
            let task = task.clone();
            parent.news.put(UnheardEnd {
                id,
                child,
                task,
                end,
            });
        }
    }

    fn fold_halt(&mut self, agent: AgentId, end: TaskEnding, at: TimeMs) -> Result<(), FoldError> {
        let node = self.known_mut(agent)?;
        let change = match node.lifecycle {
            // A root without a task of its own: the one that it did not begin has ended.
            Lifecycle::PendingInit => node.first_callback().map(|callback| LifecycleChange::End {
                task: callback.task(),
                end,
            }),
            _ => None,
        };
        let change = change.unwrap_or(LifecycleChange::Halt { end });
        node.change(change, at)?;
        node.stop = None;
        node.drop_input_by(end);
        Ok(())
    }

    /// An agent is back as it stood: nothing has happened to it meanwhile.
    fn fold_reopening(&mut self, agent: AgentId) -> Result<(), FoldError> {
        let node = self.known_mut(agent)?;
        node.place = AgentLiveness::Live;
        if node.lifecycle.is_shutdown() {
            node.change(LifecycleChange::Reopen, node.open_since)?;
        }
        Ok(())
    }

    fn fold_release(&mut self, agent: AgentId) -> Result<(), FoldError> {
        let Some(parent) = self.known_mut(agent)?.parent.take() else {
            return Ok(());
        };
        self.known_mut(parent)?
            .children
            .retain(|child| *child != agent);
        Ok(())
    }

    fn known_mut(&mut self, agent: AgentId) -> Result<&mut AgentRecord, FoldError> {
        self.agents
            .get_mut(&agent)
            .map(Box::as_mut)
            .ok_or(FoldError::UnknownAgent(agent))
    }
}

impl AgentRecord {
    /// Takes a message that begins a task; what a callback tells is old by that.
    fn take(&mut self, message: MessageId) -> Option<MailEnvelope> {
        self.news.take(message);
        self.inbox.take(message)
    }

    fn first_callback(&self) -> Option<MessageId> {
        let mut mail = self.inbox.iter();
        mail.find(|mail| matches!(mail.kind, MailKind::Callback { .. }))
            .map(|mail| mail.id)
    }

    fn shut(&mut self, at: TimeMs) -> Result<(), FoldError> {
        let since = self.since;
        self.change(LifecycleChange::Shut, at)?;
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

    fn change(&mut self, change: LifecycleChange, at: TimeMs) -> Result<(), FoldError> {
        self.lifecycle = self.lifecycle.after(change)?;
        self.since = at;
        Ok(())
    }

    /// Takes the input away that an end leaves no use for. A cancel is for all that was asked;
    /// after any other stop nobody but a person or an agent makes it go on.
    fn drop_input_by(&mut self, end: TaskEnding) {
        match end {
            TaskEnding::Cancelled { .. } => self.inbox.drop_input(),
            TaskEnding::Interrupted { .. }
            | TaskEnding::FailedToStart
            | TaskEnding::BudgetExceeded => {
                self.inbox.drop_pings();
            }
            TaskEnding::Completed | TaskEnding::Errored | TaskEnding::Replaced => {}
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

fn root(session: SessionId, at: TimeMs) -> AgentRecord {
    AgentRecord {
        id: AgentId::ROOT,
        session,
        parent: None,
        maker: None,
        children: Vec::new(),
        path: crate::address::ROOT_PATH.to_owned(),
        depth: 0,
        genealogy: None,
        bond: ParentLink {
            callback: CallbackMode::Off,
            ..ParentLink::default()
        },
        born_at: at,
        lifecycle: Lifecycle::PendingInit,
        since: at,
        open_since: at,
        tasks: 0,
        task_since: at,
        inbox: Inbox::default(),
        news: UnheardEnds::default(),
        stop: None,
        place: AgentLiveness::Live,
    }
}

/// Returns the agent that a fact is about.
fn named(fact: &TreeFact) -> Option<AgentId> {
    match fact {
        TreeFact::Rooted { above, .. } => *above,
        TreeFact::Kept(AgentMetadata::Callback(_) | AgentMetadata::Enabled { .. }) => None,
        TreeFact::Born(birth) => Some(birth.agent),
        TreeFact::Sent { to, .. } => Some(*to),
        TreeFact::Started { agent, .. }
        | TreeFact::Took { agent, .. }
        | TreeFact::Ended { agent, .. }
        | TreeFact::Halted { agent, .. }
        | TreeFact::Withdrawn { agent }
        | TreeFact::Consumed { agent, .. }
        | TreeFact::StopAsked { agent, .. }
        | TreeFact::Shut { agent }
        | TreeFact::Reopened { agent }
        | TreeFact::Released { agent }
        | TreeFact::Pruned { agent }
        | TreeFact::Rebound { agent, .. }
        | TreeFact::Kept(AgentMetadata::Note { agent, .. } | AgentMetadata::Name { agent, .. }) => {
            Some(*agent)
        }
        TreeFact::Kept(
            AgentMetadata::Watchdog { target, .. } | AgentMetadata::WatchdogOff { target, .. },
        ) => Some(*target),
    }
}

/// Returns the agents whose mail a fact may change.
pub(crate) fn recipients(fact: &TreeFact) -> [Option<AgentId>; 2] {
    match fact {
        TreeFact::Sent { to, .. } => [Some(*to), None],
        TreeFact::Ended {
            agent, callback, ..
        } => [Some(*agent), callback.map(|callback| callback.target)],
        TreeFact::Started { agent, .. }
        | TreeFact::Took { agent, .. }
        | TreeFact::Halted { agent, .. }
        | TreeFact::Consumed { agent, .. } => [Some(*agent), None],
        // The first message of a child is told with its creation.
        TreeFact::Rooted { .. }
        | TreeFact::Born(_)
        | TreeFact::Withdrawn { .. }
        | TreeFact::StopAsked { .. }
        | TreeFact::Shut { .. }
        | TreeFact::Reopened { .. }
        | TreeFact::Released { .. }
        | TreeFact::Pruned { .. }
        | TreeFact::Rebound { .. }
        | TreeFact::Kept(_) => [None, None],
    }
}
