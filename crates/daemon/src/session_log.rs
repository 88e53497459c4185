//! What the log of one session tells, kept as it was read last: the next look reads what was added.

use std::collections::HashMap;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use tokio::sync::Mutex;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::item::TurnItem;
use troupe_protocol::rollout::{EventRecord, RolloutRecord, SessionMeta};
use troupe_protocol::session::TurnContext;
use troupe_protocol::spawn::{CallbackConfig, SpawnSpec};
use troupe_protocol::tree::{
    AgentLine, AgentMessage, AgentMetadata, MessageId, MessageMetadata, SpawnPoint, TreeFact,
};
use troupe_protocol::{CallId, EventMsg, SessionId, TaskOutcome};
use troupe_store::{LogPosition, SessionStore, StoreError, UnixMillis};

use crate::limits::SESSION_LOGS_MAX;
use crate::wire::message::MessageView;
use crate::wire::task::{TaskStage, TaskView, words};

/// The logs that were read.
#[derive(Debug, Default)]
pub(crate) struct SessionLogs(StdMutex<LogCache>);

#[derive(Debug, Default)]
struct LogCache {
    logs: HashMap<SessionId, CachedLog>,
    uses: u64,
}

#[derive(Debug)]
struct CachedLog {
    used: u64,
    log: Arc<Mutex<SessionLogFold>>,
}

/// What a log has told so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionLogFold {
    next: LogPosition,
    /// What follows is the session's own: before it stands what a fork copied.
    is_own: bool,
    pub meta: Option<SessionMeta>,
    pub title: Option<String>,
    pub note: Option<String>,
    pub context: Option<TurnContext>,
    pub updated: UnixMillis,
    /// Where the line of each message begins.
    pub messages: Vec<LogPosition>,
    /// Oldest first.
    pub tasks: Vec<LoggedTask>,
    pub decisions: HashMap<CallId, LoggedDecision>,
    /// Of the agents that this one made, or a person at it.
    pub births: HashMap<SessionId, LoggedBirth>,
    /// How the session is told of its children, if it ever said.
    pub callback: Option<CallbackConfig>,
    /// What it sent, by the ids of the messages.
    pub sent: HashMap<MessageId, AgentMessage>,
}

#[derive(Debug, Clone)]
pub(crate) struct LoggedBirth {
    /// The message that began its first task.
    pub first: Option<MessageId>,
    pub point: Option<SpawnPoint>,
    pub spec: Option<SpawnSpec>,
}

#[derive(Debug, Clone)]
pub(crate) struct LoggedTask {
    pub id: String,
    pub started: UnixMillis,
    pub prompt: Option<String>,
    pub metadata: Option<MessageMetadata>,
    pub end: Option<LoggedEnd>,
}

#[derive(Debug, Clone)]
pub(crate) struct LoggedEnd {
    pub outcome: TaskOutcome,
    pub at: UnixMillis,
    pub last_message: Option<String>,
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct LoggedDecision {
    /// None for a question that was answered.
    pub decision: Option<ReviewDecision>,
    pub at: UnixMillis,
}

impl SessionLogs {
    /// Reads what was added to a log. A session that has none yet has said nothing.
    pub(crate) async fn read(
        &self,
        store: &dyn SessionStore,
        session: SessionId,
    ) -> Result<SessionLogFold, StoreError> {
        let log = self.cached(session);
        let mut fold = log.lock().await;
        match fold.read_on(store, session).await {
            Ok(()) | Err(StoreError::NotFound { .. }) => Ok(fold.clone()),
            Err(error) => Err(error),
        }
    }

    /// Forgets a log that is gone.
    pub(crate) fn forget(&self, session: SessionId) {
        self.cache().logs.remove(&session);
    }

    fn cached(&self, session: SessionId) -> Arc<Mutex<SessionLogFold>> {
        let mut cache = self.cache();
        cache.uses += 1;
        let used = cache.uses;
        if !cache.logs.contains_key(&session) && cache.logs.len() >= SESSION_LOGS_MAX {
            let oldest = cache.logs.iter().min_by_key(|(_, log)| log.used);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                cache.logs.remove(&oldest);
            }
        }
        let cached = cache.logs.entry(session).or_insert_with(|| CachedLog {
            used,
            log: Arc::default(),
        });
        cached.used = used;
        Arc::clone(&cached.log)
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, LogCache> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionLogFold {
    async fn read_on(
        &mut self,
        store: &dyn SessionStore,
        session: SessionId,
    ) -> Result<(), StoreError> {
        loop {
            let batch = store.read_all(session, self.next).await?;
            for line in &batch.lines {
                // A line that cannot be read is reported by whoever resumes the session.
                if let Ok(stamped) = line.record() {
                    self.updated = stamped.timestamp;
                    self.take(session, line.start, stamped.timestamp, stamped.record);
                }
            }
            let is_over = batch.at_end || batch.next == self.next;
            self.next = batch.next;
            if is_over {
                return Ok(());
            }
        }
    }

    fn take(
        &mut self,
        session: SessionId,
        start: LogPosition,
        at: UnixMillis,
        record: RolloutRecord,
    ) {
        match record {
            RolloutRecord::SessionMeta(meta) => {
                self.meta.get_or_insert(*meta);
            }
            RolloutRecord::TurnContext(context) => self.context = Some(context),
            RolloutRecord::EventMsg(event) => self.event(start, at, event),
            RolloutRecord::Agent(line) => {
                self.fact(&line);
                if let (TreeFact::Ended { task, .. }, Some(result)) =
                    (&line.record.fact, line.result)
                    && result.session_id == session
                    && let Some(known) = self.task(&task.0)
                {
                    known.end = Some(LoggedEnd {
                        outcome: TaskOutcome::from(&result.stop),
                        at,
                        error: result.stop.error().map(str::to_owned),
                        last_message: result.last_message,
                    });
                }
            }
            _ => {}
        }
    }

    /// Takes what others ask of a tree: births, messages, how a session is told.
    fn fact(&mut self, line: &AgentLine) {
        let message = line.message.as_deref().cloned();
        match &line.record.fact {
            TreeFact::Born(birth) => {
                let born = LoggedBirth {
                    first: birth.first.as_ref().map(|first| first.id),
                    point: birth.genealogy.point.clone(),
                    spec: line.spec.as_deref().cloned(),
                };
                self.births.insert(birth.session, born);
                self.sent
                    .extend(birth.first.as_ref().map(|first| first.id).zip(message));
            }
            TreeFact::Sent { envelope, .. } => self.sent.extend(Some(envelope.id).zip(message)),
            TreeFact::Ended { callback, .. } => {
                self.sent
                    .extend(callback.map(|callback| callback.id).zip(message));
            }
            TreeFact::Kept(AgentMetadata::Callback(config)) => {
                self.callback = Some(config.clone());
            }
            _ => {}
        }
    }

    fn event(&mut self, start: LogPosition, at: UnixMillis, event: EventRecord) {
        match event.msg {
            EventMsg::SessionConfigured(_) => self.is_own = true,
            EventMsg::ThreadNameUpdated { thread_name } => self.title = thread_name,
            EventMsg::ThreadNoteUpdated { thread_note } => self.note = thread_note,
            EventMsg::TurnContextUpdated(context) => self.context = Some(context),
            EventMsg::ItemCompleted { turn_id, item, .. } => {
                self.messages.push(start);
                if let TurnItem::UserMessage(message) = item
                    && let Some(task) = self.task(&turn_id.0)
                    && task.prompt.is_none()
                {
                    task.prompt = Some(words(&message.content));
                    task.metadata = message.metadata;
                }
            }
            EventMsg::TurnStarted(started) if self.is_own => self.tasks.push(LoggedTask {
                id: started.turn_id.0,
                started: UnixMillis(started.started_at_ms),
                prompt: None,
                metadata: None,
                end: None,
            }),
            EventMsg::TurnComplete(complete) => {
                let (outcome, said) = (TaskOutcome::Completed, complete.last_agent_message);
                self.end(&complete.turn_id.0, outcome, at, said);
            }
            EventMsg::TurnAborted(aborted) => {
                let (outcome, said) = (aborted.reason.into(), aborted.last_agent_message);
                self.end(&aborted.turn_id.0, outcome, at, said);
            }
            EventMsg::ApprovalResolved { call_id, decision } => {
                let decision = Some(decision);
                self.decisions
                    .insert(call_id, LoggedDecision { decision, at });
            }
            EventMsg::UserInputResolved { call_id, .. } => {
                let decision = None;
                self.decisions
                    .insert(call_id, LoggedDecision { decision, at });
            }
            _ => {}
        }
    }

    /// The result says more, and may stand before this line.
    fn end(&mut self, task: &str, outcome: TaskOutcome, at: UnixMillis, said: Option<String>) {
        if let Some(task) = self.task(task)
            && task.end.is_none()
        {
            task.end = Some(LoggedEnd {
                outcome,
                at,
                last_message: said,
                error: None,
            });
        }
    }

    fn task(&mut self, id: &str) -> Option<&mut LoggedTask> {
        self.tasks.iter_mut().rev().find(|task| task.id == id)
    }
}

impl LoggedTask {
    /// Returns the task as clients see it. `runs` tells whether a process works with its session:
    /// without one, a task that has no end died with the one that had it.
    pub(crate) fn view(&self, session: SessionId, runs: bool) -> TaskView {
        let end = self.end.as_ref();
        let outcome = match end {
            Some(end) => Some(end.outcome),
            None if runs => None,
            None => Some(TaskOutcome::Crash),
        };
        TaskView {
            id: self.id.clone(),
            session_id: session,
            status: outcome.map_or(TaskStage::Running, |outcome| outcome.class().into()),
            stop_reason: outcome.map(TaskOutcome::as_str),
            queue_position: None,
            prompt: self.prompt.clone(),
            metadata: self.metadata.clone().map(Into::into),
            started_at: Some(self.started.to_string()),
            completed_at: end.map(|end| end.at.to_string()),
            last_message: end.and_then(|end| end.last_message.clone()),
            error: end.and_then(|end| end.error.clone()),
        }
    }
}

/// Reads messages by their numbers; `range` is within those of the log.
pub(crate) async fn read_messages(
    store: &dyn SessionStore,
    session: SessionId,
    log: &SessionLogFold,
    range: std::ops::Range<usize>,
) -> Result<Vec<MessageView>, StoreError> {
    let mut views = Vec::new();
    let wanted = log.messages.get(range.clone()).unwrap_or_default();
    let Some(mut next) = wanted.first().copied() else {
        return Ok(views);
    };
    let mut numbered = wanted.iter().zip(range).peekable();
    while numbered.peek().is_some() {
        let batch = store.read_all(session, next).await?;
        for line in &batch.lines {
            let Some((_, number)) = numbered.next_if(|(start, _)| **start == line.start) else {
                continue;
            };
            if let Ok(stamped) = line.record()
                && let RolloutRecord::EventMsg(event) = stamped.record
                && let EventMsg::ItemCompleted { turn_id, item, .. } = event.msg
            {
                views.push(message(number, turn_id.0, &item, stamped.timestamp));
            }
        }
        if batch.at_end || batch.next == next {
            break;
        }
        next = batch.next;
    }
    Ok(views)
}

fn message(number: usize, task_id: String, item: &TurnItem, at: UnixMillis) -> MessageView {
    let (role, text, metadata) = match item {
        TurnItem::UserMessage(message) => {
            let metadata = message.metadata.clone().map(Into::into);
            ("user", Some(words(&message.content)), metadata)
        }
        TurnItem::AgentMessage(message) => ("assistant", Some(message.text.clone()), None),
        TurnItem::Plan(plan) => ("assistant", Some(plan.text.clone()), None),
        TurnItem::Reasoning(_) => ("assistant", None, None),
        TurnItem::CommandExecution(_)
        | TurnItem::FileChange(_)
        | TurnItem::McpToolCall(_)
        | TurnItem::ToolCall(_)
        | TurnItem::ImageView(_)
        | TurnItem::Skill(_)
        | TurnItem::ContextCompaction(_) => ("tool", None, None),
    };
    MessageView {
        index: u64::try_from(number).unwrap_or(u64::MAX),
        id: item.id().0.clone(),
        task_id,
        role,
        completed_at: at.to_string(),
        text,
        metadata,
        item: serde_json::to_value(item).unwrap_or_default(),
    }
}
