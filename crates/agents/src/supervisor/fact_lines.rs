//! Facts become lines: with what they say, and in the log where they belong.

use std::sync::Arc;

use troupe_engine::{SessionOrder, WriteAck, WriteBatch, WriteOutcome};
use troupe_protocol::result::{Evidence, StopReason, TaskResult};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::spawn::SpawnSpec;
use troupe_protocol::tree::{
    AgentLine, AgentMessage, Callback, Interruption, MessageMetadata, TaskEnding, TreeFact,
    TreeRecord,
};
use troupe_protocol::{AgentId, EventMsg, SubmissionId, discard};
use troupe_tree::status::CurrentStatus;

use super::input::SupervisorInput;
use super::step_queue::WriteTicket;
use super::{Supervisor, SupervisorState};
use crate::callback;
use crate::limits::WRITE_ATTEMPTS_MAX;

/// The contents that the facts of one command refer to.
#[derive(Debug, Default)]
pub(super) struct FactContents {
    pub spec: Option<Arc<SpawnSpec>>,
    pub message: Option<AgentMessage>,
    pub result: Option<TaskResult>,
    /// Why agents are stopped, in somebody's words.
    pub note: Option<String>,
    /// Results leave an inbox, because a model is told them in the same write.
    pub tells_results: bool,
    /// The end of a review, which is told when its line is on disk.
    pub reviewed: Option<(AgentId, EventMsg)>,
}

impl FactContents {
    /// Contents of a message of words alone.
    pub(super) fn saying(text: impl Into<String>) -> Self {
        Self {
            message: Some(AgentMessage::text(text)),
            ..Self::default()
        }
    }
}

/// Lines that were handed over and are not acknowledged.
#[derive(Debug, Clone)]
pub(super) struct UnwrittenLines {
    pub log: AgentId,
    pub lines: Vec<RolloutRecord>,
    pub attempt: u32,
}

impl Supervisor {
    /// Makes the line of a fact.
    pub(super) fn line(
        &mut self,
        record: TreeRecord,
        contents: &mut FactContents,
    ) -> RolloutRecord {
        let mut line = AgentLine {
            tree: self.root.session,
            record,
            spec: None,
            message: None,
            result: None,
        };
        self.log_fact(&line.record.fact);
        let now = self.now().0;
        self.watchdogs.fold(&line.record.fact, now);
        match &mut line.record.fact {
            TreeFact::Born(birth) => {
                self.births
                    .note(birth, self.tree.task_in_flight(birth.parent));
                line.spec = contents.spec.as_deref().cloned().map(Box::new);
                line.message = birth
                    .first
                    .as_ref()
                    .and_then(|first| self.mail.keep(first.id, contents.message.take()));
            }
            TreeFact::Sent { envelope, .. } => {
                line.message = self.mail.keep(envelope.id, contents.message.take());
            }
            TreeFact::Ended {
                agent,
                task,
                end,
                callback,
            } => {
                let (agent, end, callback) = (*agent, *end, *callback);
                let task = task.clone();
                let seen = contents
                    .result
                    .take()
                    .or_else(|| self.salvaged.remove(&agent));
                let note = contents.note.as_ref();
                let result = self.result_of(agent, &task, end, seen, note);
                if let Some(Callback { id, target }) = callback {
                    let message = self.callback_message(agent, target, &result);
                    line.message = self.mail.keep(id, Some(message));
                }
                contents.reviewed = self.review_end(agent, end, &result);
                self.remember_result(agent, end, &result);
                line.result = Some(Box::new(result));
            }
            TreeFact::Started { message, .. } => {
                let mail = message.and_then(|message| self.mail.take(message));
                let metadata = mail.and_then(|mail| mail.metadata);
                contents.tells_results |= metadata.is_some_and(|it| it.is_callback);
            }
            TreeFact::Took { messages, .. } => self.mail.forget(messages),
            TreeFact::Consumed { messages, .. } => {
                contents.tells_results = true;
                self.mail.forget(messages);
            }
            TreeFact::StopAsked { agent, note, .. } => {
                note.clone_from(&contents.note);
                if let Some(member) = self.members.get_mut(*agent) {
                    member.stop_note.clone_from(note);
                }
            }
            TreeFact::Released { agent } => self.shared.ceilings.released(*agent),
            TreeFact::Rooted { .. }
            | TreeFact::Halted { .. }
            | TreeFact::Withdrawn { .. }
            | TreeFact::Shut { .. }
            | TreeFact::Reopened { .. }
            | TreeFact::Pruned { .. }
            | TreeFact::Rebound { .. }
            | TreeFact::Kept(_) => {}
        }
        RolloutRecord::Agent(Box::new(line))
    }

    /// Completes what a session saw with what the tree knows; a task that nobody saw end
    /// gets a result that says so.
    fn result_of(
        &mut self,
        agent: AgentId,
        task: &SubmissionId,
        end: TaskEnding,
        seen: Option<TaskResult>,
        note: Option<&String>,
    ) -> TaskResult {
        let node = self.tree.get(agent);
        let now = self.now().0;
        let mut result = seen.unwrap_or_else(|| TaskResult {
            session_id: node.map_or(self.root.session, |node| node.session),
            task_id: task.clone(),
            stop: StopReason::Interrupted,
            last_message: None,
            output: None,
            evidence: Evidence {
                started_at_ms: node.map_or(now, |node| node.since.0),
                ended_at_ms: now,
                ..Evidence::default()
            },
        });
        result.stop = match (end, result.stop) {
            (TaskEnding::Cancelled { .. }, _) => {
                let asked = self.members.get(agent).and_then(|m| m.stop_note.as_ref());
                // One that had not begun ends with the request itself.
                let note = asked.or(note).cloned();
                StopReason::Cancelled { note }
            }
            (
                TaskEnding::Interrupted {
                    why: Interruption::Crash,
                },
                _,
            ) => StopReason::Crash,
            (
                TaskEnding::Interrupted {
                    why: Interruption::Shutdown,
                },
                _,
            ) => StopReason::Shutdown,
            (TaskEnding::Replaced, _) => StopReason::Replaced,
            (_, seen) => seen,
        };
        let children = self.births.take(task);
        let children = children
            .into_iter()
            .filter_map(|child| self.tree.get(child));
        result.evidence.children = children
            // One that was released is nobody's work any more.
            .filter(|child| child.parent == Some(agent))
            .map(|child| child.session)
            .collect();
        result
    }

    fn remember_result(&mut self, agent: AgentId, end: TaskEnding, result: &TaskResult) {
        // The root remembers its own.
        let Some(member) = self.members.get_mut(agent) else {
            return;
        };
        member.preview = result.text().as_deref().map(super::views::preview);
        member.usage += result.evidence.usage;
        member.stop_note = None;
        member.has_answered |= end != TaskEnding::Replaced;
        member.ran_ms = result.evidence.ran_ms();
        member.last_result = Some(Arc::new(result.clone()));
    }

    /// Renders what a target is told of its child, by the target's own configuration.
    fn callback_message(
        &mut self,
        agent: AgentId,
        target: AgentId,
        result: &TaskResult,
    ) -> AgentMessage {
        let config = self.callback_config(target, agent);
        let context = self.callback_context(agent, target, result);
        let rendered = callback::render(&config, &context);
        if let Some(warning) = rendered.warning {
            self.warn(target, warning);
        }
        AgentMessage {
            items: vec![troupe_protocol::input::UserInput::text(rendered.text)],
            metadata: Some(MessageMetadata::callback(
                result.session_id,
                result.task_id.clone(),
            )),
            client_id: None,
        }
    }

    /// Hands a line to the session in whose log it belongs.
    pub(super) fn write(&mut self, log: AgentId, line: RolloutRecord) {
        // A lost agent gets no new log: that would look like all that it ever did.
        let is_lost = self.tree.status(log) == CurrentStatus::Lost;
        let log = if is_lost { AgentId::ROOT } else { log };
        let ticket = self.steps.until_written();
        self.give_lines(
            ticket,
            UnwrittenLines {
                log,
                lines: vec![line],
                attempt: 1,
            },
        );
    }

    /// Packs lines for the session that waits for them, behind those that it was sent before
    /// and has not come to. Those that tell results are written with what is told, or not at
    /// all: without it the results would be lost. In the logs they still wait.
    pub(super) fn pack(
        &mut self,
        ticket: WriteTicket,
        log: AgentId,
        lines: Vec<RolloutRecord>,
        tells_results: bool,
    ) -> WriteBatch {
        let mut packed = self.steps.take_back(log).unwrap_or_default();
        packed.append(WriteBatch {
            records: lines.clone(),
            receipt: Some(self.receipt(ticket)),
        });
        let attempt = if tells_results { WRITE_ATTEMPTS_MAX } else { 1 };
        let unwritten = UnwrittenLines {
            log,
            lines,
            attempt,
        };
        self.steps.on_the_way(ticket, unwritten);
        packed
    }

    /// Hears what became of lines. What one session could not write another one may.
    pub(super) fn written(&mut self, ticket: WriteTicket, fate: WriteOutcome) {
        let Some(unwritten) = self.steps.arrived(ticket) else {
            return;
        };
        match fate {
            WriteOutcome::Written => self.steps.written(ticket),
            WriteOutcome::Lost if unwritten.attempt < WRITE_ATTEMPTS_MAX => {
                let (log, attempt) = (unwritten.log, unwritten.attempt);
                tracing::warn!(%log, attempt, "lines of the tree were not written");
                let attempt = unwritten.attempt + 1;
                let log = if attempt == WRITE_ATTEMPTS_MAX {
                    AgentId::ROOT
                } else {
                    unwritten.log
                };
                self.give_lines(
                    ticket,
                    UnwrittenLines {
                        log,
                        attempt,
                        ..unwritten
                    },
                );
            }
            WriteOutcome::Lost => self.break_down(),
        }
    }

    fn give_lines(&mut self, ticket: WriteTicket, unwritten: UnwrittenLines) {
        let lines = WriteBatch {
            records: unwritten.lines.clone(),
            receipt: Some(self.receipt(ticket)),
        };
        let log = unwritten.log;
        self.steps.on_the_way(ticket, unwritten);
        if let Some(parcel) = self.steps.send(log, lines) {
            self.give(log, SessionOrder::Write(parcel));
        }
    }

    /// Tells the diagnostic log how the life of an agent goes on. No fact is logged with what
    /// somebody said.
    fn log_fact(&self, fact: &TreeFact) {
        let path = |agent: &AgentId| {
            let node = self.tree.get(*agent);
            node.map_or_else(|| agent.to_string(), |node| node.path.clone())
        };
        match fact {
            TreeFact::Rooted { session, .. } => tracing::info!(%session, "the tree begins"),
            TreeFact::Born(birth) => {
                let (agent, session) = (&birth.path, birth.session);
                tracing::info!(agent, %session, parent = path(&birth.parent), "an agent is born");
            }
            TreeFact::Started { agent, task, .. } => {
                tracing::info!(agent = path(agent), %task, "an agent starts a task");
            }
            TreeFact::Ended {
                agent, task, end, ..
            } => tracing::info!(agent = path(agent), %task, ?end, "an agent ends a task"),
            TreeFact::Halted { agent, end } => {
                tracing::info!(agent = path(agent), ?end, "an agent is halted");
            }
            TreeFact::StopAsked { agent, stop, .. } => {
                tracing::info!(agent = path(agent), ?stop, "an agent is asked to stop");
            }
            TreeFact::Shut { agent } => {
                tracing::info!(agent = path(agent), "an agent is shut down");
            }
            TreeFact::Reopened { agent } => {
                tracing::info!(agent = path(agent), "an agent is reopened");
            }
            TreeFact::Released { agent } => {
                tracing::info!(agent = path(agent), "an agent is released");
            }
            TreeFact::Pruned { agent } => tracing::info!(agent = path(agent), "an agent is pruned"),
            TreeFact::Withdrawn { agent } => {
                tracing::debug!(agent = path(agent), "a start is withdrawn");
            }
            TreeFact::Sent { to, envelope } => {
                tracing::debug!(to = path(to), message = %envelope.id, "a message is sent");
            }
            TreeFact::Took { agent, messages } => {
                let messages = messages.len();
                tracing::debug!(agent = path(agent), messages, "messages join a task");
            }
            TreeFact::Consumed { agent, messages } => {
                let messages = messages.len();
                tracing::debug!(agent = path(agent), messages, "a wait delivers messages");
            }
            TreeFact::Rebound { .. } | TreeFact::Kept(_) => {}
        }
    }

    fn receipt(&self, ticket: WriteTicket) -> WriteAck {
        let mailbox = self.shared.mailbox();
        WriteAck::new(move |fate| {
            // A supervisor that is gone does not care.
            discard!(
                mailbox.send(SupervisorInput::Written { ticket, fate }),
                "the actor has ended"
            );
        })
    }

    /// Stops everything: what is in memory is ahead of what is on disk.
    fn break_down(&mut self) {
        if matches!(self.state, SupervisorState::Broken) {
            return;
        }
        tracing::error!("lines of the tree could not be written: it does nothing more");
        self.steps.clear();
        self.waits.clear();
        let message = "the agents were stopped, because what they did could not be written; make \
                       room on the disk and resume the session"
            .to_owned();
        // It is not kept either: the disk that would keep it is the one that is full.
        let warning = SessionOrder::Tell(EventMsg::Warning { message });
        self.root.orders.give(warning);
        if matches!(self.state, SupervisorState::Running) {
            self.state = SupervisorState::Broken;
        }
        self.members.drop_all();
    }
}
