//! One model cycle: the whole response, the calls in it, their answers, the bookmark.

use std::sync::Arc;

use base64::Engine as _;
use troupe_model::{ModelError, ModelErrorKind};
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, EventMsg, ExecCommandOutputDelta};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{CallId, ResponseId, ResponseItem};
use troupe_store::StoreError;
use troupe_tools::ToolEvent;

use super::Conversation;
use super::refused_requests::RequestOverflow;
use crate::calls::{self, CallOrigin, CallSignal, CycleCalls, DueAnswers};
use crate::emit::{EmittedLine, Emitter};
use crate::history::{PromptHistory, distinct_call_id};
use crate::host::WriteAck;
use crate::inquiry::InquiryAnswer;
use crate::limits::PAUSES_MAX;
use crate::response::IncomingResponse;
use crate::task::{CompactionBudget, StopCause, Task, TaskPhase};

impl Conversation {
    pub(super) async fn response_completed(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        response_id: ResponseId,
        usage: TokenUsage,
    ) -> Result<(), StoreError> {
        self.ledgers.usage.total += usage;
        self.ledgers.usage.last = usage;
        task.seen.used(usage);
        match std::mem::replace(&mut task.phase, TaskPhase::Starting) {
            TaskPhase::Sampling { stream, response } => {
                stream.release();
                self.cycle_answered(task, out, response, response_id, usage)
                    .await
            }
            TaskPhase::Compacting(compacting) => self.compacted(task, out, compacting).await,
            phase @ (TaskPhase::Starting
            | TaskPhase::Equipping { .. }
            | TaskPhase::Calling(_)
            | TaskPhase::Shell
            | TaskPhase::Leaving { .. }
            | TaskPhase::Stopping(_)
            | TaskPhase::Over) => {
                task.phase = phase;
                Ok(())
            }
        }
    }

    /// Records a whole response and starts the calls in it.
    async fn cycle_answered(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        response: IncomingResponse,
        response_id: ResponseId,
        usage: TokenUsage,
    ) -> Result<(), StoreError> {
        let limit = self.compact_limit(&task.context.model);
        let sent = match usage.input_tokens {
            0 => self.ledgers.context_tokens(),
            counted => counted,
        };
        let room = task.room.after_response(sent, limit);
        let no_room = room == CompactionBudget::Never && task.room != CompactionBudget::Never;
        task.room = room;
        if let Some(text) = response.last_message() {
            task.last_message = Some(text);
        }
        task.cycles += 1;
        task.pauses = if response.is_paused() {
            task.pauses + 1
        } else {
            0
        };
        self.ledgers.responses = self.ledgers.responses.saturating_add(1);
        let finished = response.finish();
        let items = with_distinct_calls(finished.history, &self.ledgers.history);
        let records = items
            .iter()
            .cloned()
            .map(RolloutRecord::ResponseItem)
            .collect();
        let mut msgs = self.completed_events(&task.id, finished.items);
        msgs.push(self.token_count(&task.context.model));
        if no_room {
            msgs.push(no_room_warning(sent, limit));
        }
        out.write(&task.id, records, msgs)?;
        let calls = CycleCalls::new(response_id, usage, &items);
        task.seen.responded(&items);
        self.ledgers.history.extend(items);
        self.ledgers.history.drop_dangling_reasoning();
        self.ledgers.count(usage);
        task.enter(TaskPhase::Calling(calls));
        self.start_calls(task);
        self.finish_cycle(task, out).await
    }

    pub(super) async fn response_failed(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        error: ModelError,
    ) -> Result<(), StoreError> {
        let is_sampling = matches!(task.phase, TaskPhase::Sampling { .. });
        match error.kind {
            ModelErrorKind::ContextWindowExceeded => {
                self.models.learn_window(&task.context.model, &error);
                if !is_sampling {
                    return self.shrink_compaction(task, out, &error).await;
                }
                if task.room == CompactionBudget::Unknown && self.compactable(task) > 0 {
                    self.drop_response(task, out)?;
                    return self.make_room(task, out).await;
                }
                return self
                    .fail_oversized_task(task, out, RequestOverflow::Refused(&error))
                    .await;
            }
            ModelErrorKind::PreviousResponseUnknown | ModelErrorKind::PictureRefused
                if self.repair_refused_request(task, out, &error)? =>
            {
                return self.ask_again(task, out).await;
            }
            _ => (),
        }
        let info = ErrorInfo::from(&error);
        let stop = StopCause::fatal(AbortReason::Error, error.message, info);
        self.stop(task, out, stop).await
    }

    fn start_calls(&self, task: &mut Task) {
        let context = Arc::new(self.call_context(task));
        let epoch = task.epoch;
        while let TaskPhase::Calling(calls) = &mut task.phase {
            let Some(startable) = calls.next_startable(&self.tools) else {
                break;
            };
            let index = startable.index;
            let call_id = startable.call_id.clone();
            let channel = self.services.channel(CallOrigin::Model { epoch }, call_id);
            let handle = calls::start(
                Arc::clone(&self.tools),
                startable,
                Arc::clone(&context),
                calls.ending(),
                channel,
            );
            calls.started(index, handle);
        }
        self.show_calls(task);
    }

    /// Takes a signal of a call that the task's model made.
    pub(super) async fn call_signal(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        call_id: CallId,
        signal: CallSignal,
    ) -> Result<(), StoreError> {
        match signal {
            CallSignal::Event(event) => self.tool_event(task, out, call_id, event),
            CallSignal::Ask(ask) => Box::pin(self.ask(task, out, call_id, ask)).await,
            CallSignal::Settled(decision) => {
                let word = InquiryAnswer::Decision(decision);
                Box::pin(self.record_outside_answer(task, out, &call_id, word)).await
            }
            CallSignal::MayStop(verdict) => Box::pin(self.may_stop(task, out, verdict)).await,
            CallSignal::Answered { index, output } => {
                self.drop_question(task, out, &call_id)?;
                let Some(calls) = task.calls() else {
                    return Ok(());
                };
                calls.answered(index, output);
                if task.is_stopping() {
                    return Box::pin(self.finish_stop_if_clean(task, out)).await;
                }
                self.start_calls(task);
                Box::pin(self.finish_cycle(task, out)).await
            }
        }
    }

    /// Records answers as they become due; after the last one the cycle is over.
    async fn finish_cycle(&mut self, task: &mut Task, out: &mut Emitter) -> Result<(), StoreError> {
        let Some(calls) = task.calls() else {
            return Ok(());
        };
        let DueAnswers { answers, claims } = calls.take_recordable();
        let done = calls.is_done();
        let goes_on = calls.any();
        let (response_id, usage) = (calls.response_id.clone(), calls.usage);
        let claiming = self.claiming(claims).await;
        self.ledgers.note_agents(&claiming.records);
        let completed = done.then(|| EventMsg::ResponseCompleted {
            turn_id: task.id.clone(),
            response_id: response_id.clone(),
            usage,
        });
        let lines = claiming.records.into_iter().map(EmittedLine::Record);
        let lines = lines.chain(answers.iter().map(EmittedLine::item));
        out.write_lines(lines.chain(completed.map(|msg| EmittedLine::event(&task.id, msg))))?;
        WriteAck::tell_written(claiming.receipt);
        self.ledgers.history.extend(answers);
        if !done {
            return Ok(());
        }
        self.ledgers
            .history
            .set_bookmark(response_id.clone(), out.position());
        task.last_response = Some(response_id);
        task.enter(TaskPhase::Starting);
        if task.pauses > PAUSES_MAX {
            let message = format!(
                "the model paused {PAUSES_MAX} times in a row and wants to go on; say so if it shall"
            );
            let stop = StopCause::fatal(AbortReason::Error, message, ErrorInfo::Other);
            return self.stop(task, out, stop).await;
        }
        if goes_on || task.pauses > 0 || self.deliver_steered(task, out).await? {
            return Box::pin(self.sample(task, out)).await;
        }
        self.conclude(task, out).await
    }

    fn tool_event(
        &self,
        task: &mut Task,
        out: &mut Emitter,
        call_id: CallId,
        event: ToolEvent,
    ) -> Result<(), StoreError> {
        let id = task.id.clone();
        match event {
            ToolEvent::Started(item) => {
                let event = self.started_event(&id, item.clone());
                out.emit(&id, vec![event])?;
                if let Some(calls) = task.calls() {
                    calls.item_started(item);
                }
                Ok(())
            }
            ToolEvent::Completed(item) => {
                task.seen.completed(&item);
                if let Some(calls) = task.calls() {
                    calls.item_completed(&item);
                }
                out.emit(&id, self.completed_events(&id, vec![item]))
            }
            ToolEvent::Output { stream, bytes } => out.delta(
                &id,
                EventMsg::ExecCommandOutputDelta(ExecCommandOutputDelta {
                    call_id,
                    stream,
                    chunk: base64::engine::general_purpose::STANDARD.encode(&bytes),
                }),
            ),
            ToolEvent::Plan { explanation, plan } => {
                out.emit(&id, vec![EventMsg::PlanUpdate { explanation, plan }])
            }
            ToolEvent::TerminalInteraction { process_id, stdin } => out.emit(
                &id,
                vec![EventMsg::TerminalInteraction {
                    call_id,
                    process_id,
                    stdin,
                }],
            ),
            ToolEvent::Warning(message) => out.warn(&id, message),
            ToolEvent::HookWarning(message) => {
                self.services.host.hook_warned(&message);
                out.warn(&id, message)
            }
            ToolEvent::Editing(files) => {
                task.seen.editing(files);
                Ok(())
            }
            ToolEvent::Files(fact) => {
                out.write(&id, vec![RolloutRecord::Files(Box::new(fact))], Vec::new())
            }
            ToolEvent::Other(msg) if msg.is_delta() => out.delta(&id, *msg),
            ToolEvent::Other(msg) => out.emit(&id, vec![*msg]),
        }
    }
}

fn no_room_warning(sent: u64, limit: u64) -> EventMsg {
    let message = format!(
        "a request takes {sent} tokens although the conversation was just summarised, and from \
         {limit} on it is summarised; it is not summarised again in this task: choose a model \
         with a larger window, set model_auto_compact_token_limit higher, or use fewer tools \
         and instructions"
    );
    EventMsg::Warning { message }
}

/// Gives every call of a response an id of its own. Nearly always each has one, which is seen
/// without making anything.
fn with_distinct_calls(mut items: Vec<ResponseItem>, history: &PromptHistory) -> Vec<ResponseItem> {
    let calls: Vec<&CallId> = items.iter().filter_map(ResponseItem::open_call).collect();
    let is_repeated =
        |(index, id): (usize, &&CallId)| id.0.is_empty() || calls[..index].contains(id);
    if !calls.iter().enumerate().any(is_repeated) && !history.has_any_call(&calls) {
        return items;
    }
    let mut taken = history.call_ids();
    for item in &mut items {
        if let ResponseItem::FunctionCall { call_id, .. }
        | ResponseItem::CustomToolCall { call_id, .. } = item
        {
            *call_id = distinct_call_id(call_id, &taken);
            taken.insert(call_id.clone());
        }
    }
    items
}
