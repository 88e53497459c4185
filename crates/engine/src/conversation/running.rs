//! A task from its first model request to its last.

use std::sync::Arc;
use std::time::Duration;

use troupe_model::{ModelError, ModelEvent, ModelRequest, ModelToolChoice};
use troupe_protocol::SubmissionId;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, ErrorEvent, EventMsg, StreamErrorEvent, TurnStarted};
use troupe_protocol::input::UserInput;
use troupe_protocol::item::TurnItem;
use troupe_protocol::policy::SandboxPolicy;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::MessageId;
use troupe_protocol::usage::TokenUsageInfo;
use troupe_store::StoreError;

use super::models::effective_effort;
use super::preparing::{PreparedTask, ResumePoint};
use super::refused_requests::RequestOverflow;
use super::{Conversation, NewTask, OpenSession, TaskRequester};
use crate::emit::{EmittedLine, Emitter};
use crate::host::{ActivityKind, StaleRequest, WriteAck, WriteBatch};
use crate::limits::{CYCLES_MAX, STOP_GRACE_MS};
use crate::output::AnswerFormat;
use crate::response::{IncomingResponse, ResponseUpdate};
use crate::task::{CompactionBudget, SteeredMessage, StopCause, Task, TaskPhase};
use crate::user_input::CheckedMessage;

/// What a call is answered with whose own answer was lost with the disk.
const UNRECORDED_ANSWER: &str =
    "aborted: the answer could not be recorded; what the call did is not known";

impl OpenSession {
    /// Starts the task. Nothing runs when this is called.
    pub(crate) async fn begin(
        &mut self,
        out: &mut Emitter,
        id: SubmissionId,
        new: NewTask,
        prepared: PreparedTask,
    ) -> Result<(), StoreError> {
        let mail = match &new.asker {
            TaskRequester::Client => None,
            TaskRequester::Inbox(id) => Some(*id),
        };
        let conversation = &mut self.conversation;
        let mut starting = match conversation.services.host.starting(&id, mail).await {
            Ok(lines) => lines,
            // What the tree gave, it may take back; a client is told.
            Err(StaleRequest) if mail.is_some() => return Ok(()),
            Err(StaleRequest) => return out.error(&id, stale_request_error()),
        };
        if let ResumePoint::Branch(branch) = prepared.from {
            conversation.rewind_to(out, *branch)?;
        }
        let settings = &mut conversation.settings;
        settings.set_context(settings.context.with(new.overrides));
        if mail.is_none() && settings.asked_shape != new.output_schema {
            settings.asked_shape = new.output_schema;
            starting.records.push(RolloutRecord::AnswerShape {
                output_schema: settings.asked_shape.clone(),
            });
        }
        conversation.skills.note(prepared.skills);
        conversation.pictures = Arc::default();
        let message = FirstMessage {
            content: new.items,
            message: prepared.message,
            mail,
            ahead: prepared.ahead,
        };
        let task = conversation.open_task(out, id, prepared.output, Some(message), starting)?;
        let (id, rights) = (
            task.id.clone(),
            conversation.call_context(&task).sandbox_policy,
        );
        let task = self.task.insert(task);
        let done = match conversation.end_wider_commands(out, &id, &rights).await {
            Ok(()) => conversation.sample(task, out).await,
            lost => lost,
        };
        self.drop_ended_task();
        done
    }
}

impl Conversation {
    /// Ends what goes on in the background with more rights than the task has that begins now.
    async fn end_wider_commands(
        &self,
        out: &mut Emitter,
        task: &SubmissionId,
        rights: &SandboxPolicy,
    ) -> Result<(), StoreError> {
        let ending = self.tools.end_wider_commands(rights);
        let ended = tokio::time::timeout(Duration::from_millis(STOP_GRACE_MS), ending).await;
        let message = match ended {
            Ok(numbers) if numbers.is_empty() => return Ok(()),
            Ok(numbers) => format!(
                "commands in the background were begun with more rights than there are now, so \
                 they were ended: {}",
                numbers.join(", ")
            ),
            Err(_) => "a command in the background, begun with more rights than there are now, \
                       was killed and has not ended yet"
                .to_owned(),
        };
        out.warn(task, message)
    }

    /// Writes the beginning of a task in one piece: the task, what the model does not know
    /// of its surroundings, its place in the tree, and the message it begins with.
    pub(super) fn open_task(
        &mut self,
        out: &mut Emitter,
        id: SubmissionId,
        output: AnswerFormat,
        message: Option<FirstMessage>,
        starting: WriteBatch,
    ) -> Result<Task, StoreError> {
        self.ledgers
            .answer_open_calls(out, |_| UNRECORDED_ANSWER.to_owned())?;
        let position = out.position();
        let started_at_ms = self.services.clock.now_ms();
        let context = self.settings.context.clone();
        let started = EventMsg::TurnStarted(TurnStarted {
            turn_id: id.clone(),
            started_at_ms,
            model_context_window: Some(self.context_window(&context.model)),
            collaboration_mode_kind: context.collaboration_mode,
        });
        let mut lines = vec![
            EmittedLine::Record(RolloutRecord::TurnContext(context.clone())),
            EmittedLine::event(&id, started),
        ];
        let mut items = Vec::new();
        let said_something = message.is_some();
        let mail = message.as_ref().and_then(|first| first.mail);
        if said_something {
            let mut warnings = self.model_warnings(&context.model);
            items = self.missing_context(&context, &mut warnings);
            let warning = |message| EmittedLine::event(&id, EventMsg::Warning { message });
            lines.extend(items.iter().map(EmittedLine::item));
            lines.extend(warnings.into_iter().map(warning));
        }
        self.ledgers.note_agents(&starting.records);
        items.extend(starting.records.iter().filter_map(|record| match record {
            RolloutRecord::ResponseItem(item) => Some(item.clone()),
            _ => None,
        }));
        lines.extend(starting.records.into_iter().map(EmittedLine::Record));
        self.epoch += 1;
        let mut task = Task::new(id, self.epoch, context, started_at_ms, output);
        if let Some(first) = message {
            task.said = first.ahead.len() + 1;
            for one in first.ahead {
                task.heard.extend(one.message_id());
                items.extend(one.message.history());
                lines.extend(self.steered_message(&task.id, &one));
            }
            lines.extend(self.message_lines(&task.id, first.content, &first.message));
            items.extend(first.message.history());
            task.heard.extend(first.mail);
        }
        out.write_lines(lines)?;
        WriteAck::tell_written(starting.receipt);
        if said_something {
            self.settings.reinstructs = false;
        }
        self.ledgers.history.begin_turn(position);
        self.ledgers.history.extend(items);
        task.span
            .in_scope(|| tracing::info!(mail = ?mail, "the task begins"));
        self.services.host.settings(&task.context);
        Ok(task)
    }

    /// Asks the model, after making room if there is too little.
    pub(super) async fn sample(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
    ) -> Result<(), StoreError> {
        self.ledgers.tell_untold(out)?;
        self.deliver_steered(task, out).await?;
        if let Some(tokens) = self.oversized_start_tokens(task) {
            return self
                .fail_oversized_task(task, out, RequestOverflow::Said { tokens })
                .await;
        }
        let full = self.ledgers.context_tokens() >= self.compact_limit(&task.context.model);
        if full && task.room == CompactionBudget::Unknown && self.compactable(task) > 0 {
            return self.make_room(task, out).await;
        }
        if task.cycles >= CYCLES_MAX {
            let message = format!("the task was stopped after {CYCLES_MAX} model requests");
            let stop = StopCause::fatal(AbortReason::Error, message, ErrorInfo::Other);
            return self.stop(task, out, stop).await;
        }
        if let Some(max) = self.settings.terms.requests_max
            && self.ledgers.responses >= max
        {
            let message =
                format!("the model was asked {max} times, which is as often as it may be");
            let stop = StopCause::fatal(AbortReason::Error, message, ErrorInfo::TurnLimitReached);
            return self.stop(task, out, stop).await;
        }
        if self.equip(task) || self.ask_for_window(task) {
            return Ok(());
        }
        let stream = self.services.model.open(self.request(task));
        let mode = task.context.collaboration_mode;
        let ids = self.services.ids.clone();
        let response = IncomingResponse::new(self.id(), task.id.clone(), mode, ids);
        task.enter(TaskPhase::Sampling { stream, response });
        tracing::info!(
            model = self.settings.context.model,
            items = self.ledgers.history.items().len(),
            tokens = self.ledgers.context_tokens(),
            "a request to the model begins"
        );
        self.set_activity(ActivityKind::Model);
        Ok(())
    }

    fn request(&self, task: &Task) -> ModelRequest {
        ModelRequest {
            model: task.context.model.clone(),
            instructions: self.instructions(&task.context),
            input: self.ledgers.history.items().to_vec(),
            tools: Arc::clone(&self.toolset),
            tool_choice: ModelToolChoice::Auto,
            parallel_tool_calls: true,
            effort: effective_effort(&task.context),
            summary: task.context.summary,
            output_schema: task.output.schema(),
            previous: self.ledgers.history.previous(),
            prompt_cache_key: Some(self.settings.prompt_cache_key.clone()),
            conversation: self.settings.own_name(),
        }
    }

    /// Takes what one network read brought.
    pub(super) async fn model(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        batch: Vec<ModelEvent>,
    ) -> Result<(), StoreError> {
        let mut said = Vec::new();
        for event in batch {
            match event {
                ModelEvent::RateLimits(limits) => self.ledgers.usage.rate_limits = Some(limits),
                ModelEvent::Retrying {
                    attempt,
                    attempts_max,
                    delay_ms,
                    error,
                } => {
                    if let TaskPhase::Sampling { response, .. } = &mut task.phase {
                        response.restart(&mut said);
                    }
                    let kind = error.kind;
                    tracing::warn!(
                        attempt,
                        attempts_max,
                        delay_ms,
                        ?kind,
                        "the request is sent again"
                    );
                    self.pass_on(task, out, &mut said)?;
                    out.emit(
                        &task.id,
                        vec![stream_error(attempt, attempts_max, delay_ms, &error)],
                    )?;
                    if let Some(compacting) = task.compacting() {
                        compacting.summary.clear();
                    }
                }
                ModelEvent::Completed { response_id, usage } => {
                    let tokens = usage.total_tokens;
                    tracing::info!(id = %response_id, tokens, "the response is complete");
                    self.pass_on(task, out, &mut said)?;
                    return Box::pin(self.response_completed(task, out, response_id, usage)).await;
                }
                ModelEvent::Failed(error) => {
                    tracing::warn!(kind = ?error.kind, "the request failed");
                    self.pass_on(task, out, &mut said)?;
                    return Box::pin(self.response_failed(task, out, error)).await;
                }
                event => match &mut task.phase {
                    TaskPhase::Sampling { response, .. } => response.apply(event, &mut said),
                    TaskPhase::Compacting(compacting) => compacting.take(event),
                    TaskPhase::Starting
                    | TaskPhase::Equipping { .. }
                    | TaskPhase::Calling(_)
                    | TaskPhase::Shell
                    | TaskPhase::Leaving { .. }
                    | TaskPhase::Stopping(_)
                    | TaskPhase::Over => (),
                },
            }
        }
        self.pass_on(task, out, &mut said)
    }

    fn pass_on(
        &self,
        task: &mut Task,
        out: &mut Emitter,
        said: &mut Vec<ResponseUpdate>,
    ) -> Result<(), StoreError> {
        for said in said.drain(..) {
            match said {
                ResponseUpdate::Started(item) => {
                    let event = self.started_event(&task.id, item);
                    out.emit(&task.id, vec![event])?;
                }
                ResponseUpdate::Delta(msg) => out.delta(&task.id, msg)?,
            }
        }
        self.report_headline(task);
        Ok(())
    }

    pub(super) fn started_event(&self, id: &SubmissionId, item: TurnItem) -> EventMsg {
        EventMsg::ItemStarted {
            thread_id: self.id(),
            turn_id: id.clone(),
            item,
            started_at_ms: self.services.clock.now_ms(),
        }
    }

    pub(super) fn completed_events(
        &self,
        id: &SubmissionId,
        items: Vec<TurnItem>,
    ) -> Vec<EventMsg> {
        let completed_at_ms = self.services.clock.now_ms();
        let completed = |item| EventMsg::ItemCompleted {
            thread_id: self.id(),
            turn_id: id.clone(),
            item,
            completed_at_ms,
        };
        items.into_iter().map(completed).collect()
    }

    pub(super) fn token_count(&self, model: &str) -> EventMsg {
        let usage = &self.ledgers.usage;
        EventMsg::TokenCount {
            info: Some(TokenUsageInfo {
                total_token_usage: usage.total,
                last_token_usage: usage.last,
                model_context_window: Some(self.context_window(model)),
            }),
            rate_limits: usage.rate_limits.clone(),
        }
    }
}

/// A message that a task begins with.
#[derive(Debug)]
pub(super) struct FirstMessage {
    content: Vec<UserInput>,
    message: CheckedMessage,
    mail: Option<MessageId>,
    /// What is told before it.
    ahead: Vec<SteeredMessage>,
}

pub(super) fn stale_request_error() -> ErrorEvent {
    ErrorEvent {
        message: "the agent takes no input now: it was closed, or is being stopped".to_owned(),
        fatal: false,
        error_info: Some(ErrorInfo::InvalidSubmission),
    }
}

fn stream_error(attempt: u32, attempts_max: u32, retry_in_ms: u64, error: &ModelError) -> EventMsg {
    EventMsg::StreamError(StreamErrorEvent {
        message: format!(
            "{}; trying again ({attempt}/{attempts_max}) in {:.1} s",
            error.message,
            std::time::Duration::from_millis(retry_in_ms).as_secs_f64()
        ),
        attempt,
        attempts_max,
        retry_in_ms,
        error_info: Some(ErrorInfo::from(error)),
    })
}
