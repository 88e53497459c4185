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

use super::refused_requests::RequestOverflow;
use super::{Conversation, PrefixCount};
use crate::calls::{self, CallOrigin, CallSignal, CycleCalls, DueAnswers, SessionChannel};
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
        out: &mut Emitter,
        response_id: ResponseId,
        usage: TokenUsage,
    ) -> Result<(), StoreError> {
        self.usage.total += usage;
        self.usage.last = usage;
        let Some(task) = &mut self.task else {
            return Ok(());
        };
        task.seen.used(usage);
        match std::mem::replace(&mut task.phase, TaskPhase::Starting) {
            TaskPhase::Sampling { stream, response } => {
                stream.release();
                self.cycle_answered(out, response, response_id, usage).await
            }
            TaskPhase::Compacting(compacting) => self.compacted(out, compacting).await,
            phase @ (TaskPhase::Starting
            | TaskPhase::Equipping { .. }
            | TaskPhase::Calling(_)
            | TaskPhase::Shell
            | TaskPhase::Leaving { .. }
            | TaskPhase::Stopping(_)) => {
                task.phase = phase;
                Ok(())
            }
        }
    }

    /// Records a whole response and starts the calls in it.
    async fn cycle_answered(
        &mut self,
        out: &mut Emitter,
        response: IncomingResponse,
        response_id: ResponseId,
        usage: TokenUsage,
    ) -> Result<(), StoreError> {
        let limit = self.compact_limit();
        let sent = match usage.input_tokens {
            0 => self.context_tokens(),
            counted => counted,
        };
        let Some(task) = &mut self.task else {
            return Ok(());
        };
        let id = task.id.clone();
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
        self.responses = self.responses.saturating_add(1);
        let finished = response.finish();
        let items = with_distinct_calls(finished.history, &self.history);
        let records = items
            .iter()
            .cloned()
            .map(RolloutRecord::ResponseItem)
            .collect();
        let mut msgs = self.completed_events(&id, finished.items);
        msgs.push(self.token_count());
        if no_room {
            msgs.push(no_room_warning(sent, limit));
        }
        out.write(&id, records, msgs)?;
        let calls = CycleCalls::new(response_id, usage, &items);
        if let Some(task) = &mut self.task {
            task.seen.responded(&items);
        }
        self.history.extend(items);
        self.history.drop_dangling_reasoning();
        self.usage.counted = (usage.total_tokens > 0).then(|| PrefixCount {
            tokens: usage.total_tokens,
            items: self.history.items().len(),
        });
        if let Some(task) = &mut self.task {
            task.enter(TaskPhase::Calling(calls));
        }
        self.start_calls();
        self.finish_cycle(out).await
    }

    pub(super) async fn response_failed(
        &mut self,
        out: &mut Emitter,
        error: ModelError,
    ) -> Result<(), StoreError> {
        let Some(task) = &self.task else {
            return Ok(());
        };
        let is_sampling = matches!(task.phase, TaskPhase::Sampling { .. });
        let room = task.room;
        match error.kind {
            ModelErrorKind::ContextWindowExceeded => {
                self.learn_window(&error);
                if !is_sampling {
                    return self.shrink_compaction(out, &error).await;
                }
                if room == CompactionBudget::Unknown && self.compactable() > 0 {
                    self.drop_response(out)?;
                    return self.make_room(out).await;
                }
                return self
                    .fail_oversized_task(out, RequestOverflow::Refused(&error))
                    .await;
            }
            ModelErrorKind::PreviousResponseUnknown | ModelErrorKind::PictureRefused
                if self.repair_refused_request(out, &error)? =>
            {
                return self.ask_again(out).await;
            }
            _ => (),
        }
        let info = ErrorInfo::from(&error);
        let stop = StopCause::fatal(AbortReason::Error, error.message, info);
        self.stop(out, stop).await
    }

    fn start_calls(&mut self) {
        let Some(task) = &self.task else {
            return;
        };
        let context = Arc::new(self.call_context(task));
        let epoch = task.epoch;
        while let Some(TaskPhase::Calling(calls)) = self.task.as_mut().map(|task| &mut task.phase) {
            let Some(startable) = calls.next_startable(&self.tools) else {
                break;
            };
            let index = startable.index;
            let channel = SessionChannel {
                mailbox: self.mailbox.clone(),
                caller: CallOrigin::Model { epoch },
                call_id: startable.call_id.clone(),
            };
            let handle = calls::start(
                Arc::clone(&self.tools),
                startable,
                Arc::clone(&context),
                calls.ending(),
                channel,
            );
            calls.started(index, handle);
        }
        self.show_calls();
    }

    /// Takes a signal of a running call. One of a task that is over is ignored.
    pub(crate) async fn signal(
        &mut self,
        out: &mut Emitter,
        caller: CallOrigin,
        call_id: CallId,
        signal: CallSignal,
    ) -> Result<(), StoreError> {
        let epoch = match caller {
            CallOrigin::Model { epoch } => epoch,
            CallOrigin::User => return Box::pin(self.shell_signal(out, &call_id, signal)).await,
        };
        if self.task.as_ref().is_none_or(|task| task.epoch != epoch) {
            return Ok(());
        }
        match signal {
            CallSignal::Event(event) => self.tool_event(out, call_id, event),
            CallSignal::Ask(ask) => Box::pin(self.ask(out, call_id, ask)).await,
            CallSignal::Settled(decision) => {
                let word = InquiryAnswer::Decision(decision);
                Box::pin(self.record_outside_answer(out, &call_id, word)).await
            }
            CallSignal::MayStop(verdict) => Box::pin(self.may_stop(out, verdict)).await,
            CallSignal::Answered { index, output } => {
                self.drop_question(out, &call_id)?;
                let Some(calls) = self.calls() else {
                    return Ok(());
                };
                calls.answered(index, output);
                if self.task.as_ref().is_some_and(Task::is_stopping) {
                    return Box::pin(self.finish_stop_if_clean(out)).await;
                }
                self.start_calls();
                Box::pin(self.finish_cycle(out)).await
            }
        }
    }

    /// Records answers as they become due; after the last one the cycle is over.
    async fn finish_cycle(&mut self, out: &mut Emitter) -> Result<(), StoreError> {
        let Some(id) = self.task_id() else {
            return Ok(());
        };
        let Some(calls) = self.calls() else {
            return Ok(());
        };
        let DueAnswers { answers, claims } = calls.take_recordable();
        let done = calls.is_done();
        let goes_on = calls.any();
        let (response_id, usage) = (calls.response_id.clone(), calls.usage);
        let claiming = self.claiming(claims).await;
        self.note_agents(&claiming.records);
        let completed = done.then(|| EventMsg::ResponseCompleted {
            turn_id: id.clone(),
            response_id: response_id.clone(),
            usage,
        });
        let lines = claiming.records.into_iter().map(EmittedLine::Record);
        let lines = lines.chain(answers.iter().map(EmittedLine::item));
        out.write_lines(lines.chain(completed.map(|msg| EmittedLine::event(&id, msg))))?;
        WriteAck::tell_written(claiming.receipt);
        self.history.extend(answers);
        if !done {
            return Ok(());
        }
        self.history
            .set_bookmark(response_id.clone(), out.position());
        let Some(task) = &mut self.task else {
            return Ok(());
        };
        task.last_response = Some(response_id);
        task.enter(TaskPhase::Starting);
        if task.pauses > PAUSES_MAX {
            let message = format!(
                "the model paused {PAUSES_MAX} times in a row and wants to go on; say so if it shall"
            );
            let stop = StopCause::fatal(AbortReason::Error, message, ErrorInfo::Other);
            return self.stop(out, stop).await;
        }
        if goes_on || task.pauses > 0 || self.deliver_steered(out).await? {
            return Box::pin(self.sample(out)).await;
        }
        self.conclude(out).await
    }

    fn tool_event(
        &mut self,
        out: &mut Emitter,
        call_id: CallId,
        event: ToolEvent,
    ) -> Result<(), StoreError> {
        let Some(id) = self.task_id() else {
            return Ok(());
        };
        match event {
            ToolEvent::Started(item) => {
                let event = self.started_event(&id, item.clone());
                out.emit(&id, vec![event])?;
                if let Some(calls) = self.calls() {
                    calls.item_started(item);
                }
                Ok(())
            }
            ToolEvent::Completed(item) => {
                if let Some(task) = &mut self.task {
                    task.seen.completed(&item);
                }
                if let Some(calls) = self.calls() {
                    calls.item_completed(&item);
                }
                self.complete_items(out, &id, vec![item])
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
                self.hook_warned(&message);
                out.warn(&id, message)
            }
            ToolEvent::Editing(files) => {
                if let Some(task) = &mut self.task {
                    task.seen.editing(files);
                }
                Ok(())
            }
            ToolEvent::Files(fact) => {
                out.write(&id, vec![RolloutRecord::Files(Box::new(fact))], Vec::new())
            }
            ToolEvent::Other(msg) if msg.is_delta() => out.delta(&id, *msg),
            ToolEvent::Other(msg) => out.emit(&id, vec![*msg]),
        }
    }

    /// Returns the calls of the running cycle, also while it is being stopped.
    pub(super) fn calls(&mut self) -> Option<&mut CycleCalls> {
        match &mut self.task.as_mut()?.phase {
            TaskPhase::Calling(calls) => Some(calls),
            TaskPhase::Stopping(stopping) => Some(&mut stopping.calls),
            TaskPhase::Starting
            | TaskPhase::Equipping { .. }
            | TaskPhase::Sampling { .. }
            | TaskPhase::Compacting(_)
            | TaskPhase::Shell
            | TaskPhase::Leaving { .. } => None,
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
