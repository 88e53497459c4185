//! A task from its first model request to its last.

use std::sync::Arc;

use troupe_model::{ModelError, ModelEvent, ModelRequest};
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, EventMsg, SteerReceipt, StreamErrorEvent, TurnStarted};
use troupe_protocol::input::UserInput;
use troupe_protocol::item::{TurnItem, UserMessageItem};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::{CallId, ResponseItem, SubmissionId};
use troupe_store::Error;

use super::preparing::{From, Prepared};
use super::{Conversation, NewTask};
use crate::emit::Emitter;
use crate::limits::CYCLES_MAX;
use crate::response::{Response, Said};
use crate::task::{AfterCompaction, Phase, Stop, Task};

/// What a call is answered with whose own answer was lost with the disk.
const UNRECORDED_ANSWER: &str =
    "aborted: the answer could not be recorded; what the call did is not known";

impl Conversation {
    /// Starts the task. Nothing runs when this is called.
    pub(crate) async fn begin(
        &mut self,
        out: &mut Emitter,
        id: SubmissionId,
        new: NewTask,
        prepared: Prepared,
    ) -> Result<(), Error> {
        if let From::Branch(branch) = prepared.from {
            self.go_back(out, *branch)?;
        }
        self.context = self.context.with(new.overrides);
        self.start_task(out, id, new.output_schema)?;
        self.tell_surroundings(out)?;
        self.say(out, new.items, prepared.message)?;
        self.sample(out).await
    }

    pub(super) fn start_task(
        &mut self,
        out: &mut Emitter,
        id: SubmissionId,
        output_schema: Option<serde_json::Value>,
    ) -> Result<(), Error> {
        self.answer_open_calls(out, |_| UNRECORDED_ANSWER.to_owned())?;
        let position = out.position();
        self.epoch += 1;
        let task = Task::new(id, self.epoch, self.context.clone(), output_schema);
        out.write(
            &task.id,
            vec![RolloutRecord::TurnContext(self.context.clone())],
            vec![EventMsg::TurnStarted(TurnStarted {
                turn_id: task.id.clone(),
                started_at_ms: self.clock.now_ms(),
                model_context_window: self.context_window(),
                collaboration_mode_kind: self.context.collaboration_mode,
            })],
        )?;
        self.history.begin_turn(position);
        self.task = Some(task);
        Ok(())
    }

    /// Answers the calls that an end without a record left open, here and in the log.
    pub(super) fn answer_open_calls(
        &mut self,
        out: &mut Emitter,
        answer: impl Fn(&CallId) -> String,
    ) -> Result<(), Error> {
        let answers = self.history.answers_for_open_calls(answer);
        if answers.is_empty() {
            return Ok(());
        }
        let records = answers
            .iter()
            .cloned()
            .map(RolloutRecord::ResponseItem)
            .collect::<Vec<_>>();
        out.record(&records)?;
        self.history.extend(answers);
        Ok(())
    }

    /// Tells the model what it does not know of its surroundings.
    fn tell_surroundings(&mut self, out: &mut Emitter) -> Result<(), Error> {
        let Some(id) = self.task_id() else {
            return Ok(());
        };
        let mut warnings = Vec::new();
        let items = self.missing_context(&mut warnings);
        let records = items
            .iter()
            .cloned()
            .map(RolloutRecord::ResponseItem)
            .collect();
        let warnings = warnings
            .into_iter()
            .map(|message| EventMsg::Warning { message })
            .collect();
        out.write(&id, records, warnings)?;
        self.history.extend(items);
        Ok(())
    }

    /// Adds a user's message to the history.
    fn say(
        &mut self,
        out: &mut Emitter,
        content: Vec<UserInput>,
        message: ResponseItem,
    ) -> Result<(), Error> {
        let Some(id) = self.task_id() else {
            return Ok(());
        };
        let item = TurnItem::UserMessage(UserMessageItem {
            id: self.ids.item("user"),
            content,
        });
        let mut msgs = vec![self.started_event(&id, item.clone())];
        msgs.extend(self.completed_events(&id, vec![item]));
        out.write(
            &id,
            vec![RolloutRecord::ResponseItem(message.clone())],
            msgs,
        )?;
        self.history.push(message);
        Ok(())
    }

    /// Asks the model, after making room if there is too little.
    pub(super) async fn sample(&mut self, out: &mut Emitter) -> Result<(), Error> {
        self.deliver_steered(out)?;
        let full = self
            .compact_limit()
            .is_some_and(|limit| self.context_tokens() >= limit);
        let Some(task) = &self.task else {
            return Ok(());
        };
        if full && !task.just_compacted {
            return self.start_compaction(out, AfterCompaction::Sample);
        }
        if task.cycles >= CYCLES_MAX {
            let message = format!("the task was stopped after {CYCLES_MAX} model requests");
            let stop = Stop::fatal(AbortReason::Error, message, ErrorInfo::Other);
            return self.stop(out, stop).await;
        }
        let stream = self.model.open(self.request(task));
        let response = Response::new(self.id(), task.id.clone(), self.ids.clone());
        if let Some(task) = &mut self.task {
            task.phase = Phase::Sampling { stream, response };
        }
        Ok(())
    }

    fn request(&self, task: &Task) -> ModelRequest {
        ModelRequest {
            model: task.context.model.clone(),
            instructions: self.instructions_text(),
            input: self.history.items().to_vec(),
            tools: Arc::clone(&self.toolset),
            parallel_tool_calls: true,
            effort: task.context.effort,
            summary: task.context.summary,
            output_schema: task.output_schema.clone(),
            previous: self.history.previous(),
            prompt_cache_key: Some(self.id().to_string()),
        }
    }

    fn deliver_steered(&mut self, out: &mut Emitter) -> Result<(), Error> {
        while let Some(steered) = self.task.as_mut().and_then(|task| task.steered.pop_front()) {
            self.say(out, steered.items, steered.message)?;
            if let Some(turn_id) = self.task_id() {
                let receipt = SteerReceipt::Delivered { turn_id };
                out.emit(&steered.submission, vec![EventMsg::SteerReceipt(receipt)])?;
            }
        }
        Ok(())
    }

    /// Takes what one network read brought.
    pub(crate) async fn model(
        &mut self,
        out: &mut Emitter,
        batch: Vec<ModelEvent>,
    ) -> Result<(), Error> {
        let mut said = Vec::new();
        for event in batch {
            let Some(task) = &mut self.task else {
                return Ok(());
            };
            match event {
                ModelEvent::RateLimits(limits) => self.usage.rate_limits = Some(limits),
                ModelEvent::Retrying {
                    attempt,
                    attempts_max,
                    delay_ms,
                    error,
                } => {
                    if let Phase::Sampling { response, .. } = &mut task.phase {
                        response.restart(&mut said);
                    }
                    let id = task.id.clone();
                    self.pass_on(out, &mut said)?;
                    out.emit(
                        &id,
                        vec![stream_error(attempt, attempts_max, delay_ms, &error)],
                    )?;
                    if let Some(compacting) = self.compacting() {
                        compacting.summary.clear();
                    }
                }
                ModelEvent::Completed { response_id, usage } => {
                    self.pass_on(out, &mut said)?;
                    return self.response_completed(out, response_id, usage).await;
                }
                ModelEvent::Failed(error) => {
                    self.pass_on(out, &mut said)?;
                    return self.response_failed(out, error).await;
                }
                event => match &mut task.phase {
                    Phase::Sampling { response, .. } => response.apply(event, &mut said),
                    Phase::Compacting(compacting) => compacting.take(event),
                    Phase::Starting | Phase::Calling(_) | Phase::Stopping(_) => (),
                },
            }
        }
        self.pass_on(out, &mut said)
    }

    fn pass_on(&mut self, out: &mut Emitter, said: &mut Vec<Said>) -> Result<(), Error> {
        let Some(id) = self.task_id() else {
            return Ok(());
        };
        for said in said.drain(..) {
            match said {
                Said::Started(item) => {
                    let event = self.started_event(&id, item);
                    out.emit(&id, vec![event])?;
                }
                Said::Delta(msg) => out.delta(&id, msg)?,
            }
        }
        Ok(())
    }

    pub(super) fn complete_items(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        items: Vec<TurnItem>,
    ) -> Result<(), Error> {
        let events = self.completed_events(id, items);
        out.emit(id, events)
    }

    pub(super) fn started_event(&self, id: &SubmissionId, item: TurnItem) -> EventMsg {
        EventMsg::ItemStarted {
            thread_id: self.id(),
            turn_id: id.clone(),
            item,
            started_at_ms: self.clock.now_ms(),
        }
    }

    pub(super) fn completed_events(
        &self,
        id: &SubmissionId,
        items: Vec<TurnItem>,
    ) -> Vec<EventMsg> {
        let completed_at_ms = self.clock.now_ms();
        let completed = |item| EventMsg::ItemCompleted {
            thread_id: self.id(),
            turn_id: id.clone(),
            item,
            completed_at_ms,
        };
        items.into_iter().map(completed).collect()
    }

    pub(super) fn token_count(&self) -> EventMsg {
        EventMsg::TokenCount {
            info: Some(self.usage_info()),
            rate_limits: self.usage.rate_limits.clone(),
        }
    }

    pub(super) fn task_id(&self) -> Option<SubmissionId> {
        self.task.as_ref().map(|task| task.id.clone())
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
