//! Ending a task early: what ran is stopped, what was said is kept, what was called is
//! answered, so that the next request is valid.

use std::time::Duration;

use troupe_protocol::SubmissionId;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::event::{AbortReason, ErrorEvent, EventMsg};
use troupe_protocol::item::TurnItem;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{ResponseId, ResponseItem};
use troupe_store::StoreError;
use troupe_tools::undo::EndedTask;

use super::ending::stop_reason;
use super::user_shell::ShellDropScope;
use super::{Conversation, OpenSession};
use crate::calls::{CycleCalls, DueAnswers};
use crate::context;
use crate::emit::{EmittedLine, Emitter};
use crate::host::{StopRequester, WriteAck};
use crate::limits::STOP_GRACE_MS;
use crate::response::IncomingResponse;
use crate::task::{StopCause, StoppingTask, Task, TaskPhase};

impl OpenSession {
    pub(crate) async fn interrupt(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
    ) -> Result<(), StoreError> {
        if self.task.is_none() {
            if self.conversation.shells.cancel_all() {
                return Ok(());
            }
            return out.warn(id, "there is no running task to interrupt".to_owned());
        }
        self.stop(out, StopCause::interrupted(StopRequester::default()))
            .await
    }

    /// Begins to end the task, if one runs.
    pub(crate) async fn stop(
        &mut self,
        out: &mut Emitter,
        why: StopCause,
    ) -> Result<(), StoreError> {
        let Some(task) = &mut self.task else {
            return Ok(());
        };
        let done = self.conversation.stop(task, out, why).await;
        self.drop_ended_task();
        done
    }

    /// Ends a task for good whose tools have had their time to clean up.
    pub(crate) async fn finish_stop(&mut self, out: &mut Emitter) -> Result<(), StoreError> {
        let Some(task) = self.task.as_mut().filter(|task| task.is_stopping()) else {
            return Ok(());
        };
        let done = self.conversation.finish_stop(task, out).await;
        self.drop_ended_task();
        done
    }

    /// Takes the task away without a record, because recording is what failed. Returns it
    /// with the ends of the items that people saw begin. Without a task, the one that was
    /// `asked` for has not begun.
    ///
    /// The tree is told either way. Its lines cannot be written now: dropping them has it
    /// look for another place, or stop.
    pub(crate) async fn give_up(
        &mut self,
        asked: &SubmissionId,
        error: &ErrorEvent,
    ) -> Option<(Task, Vec<EventMsg>)> {
        let conversation = &self.conversation;
        let Some(mut task) = self.task.take() else {
            let mut task = conversation.unseen_task(asked.clone());
            let why = stop_reason(&task, AbortReason::Error, Some(error));
            drop(conversation.ending(&mut task, why, None).await);
            return None;
        };
        let ends = conversation.give_up(&mut task, error).await;
        Some((task, ends))
    }
}

impl Conversation {
    /// Begins to end the task. It is over when its tools have cleaned up, which may be now.
    pub(super) async fn stop(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        why: StopCause,
    ) -> Result<(), StoreError> {
        let calls = match std::mem::replace(&mut task.phase, TaskPhase::Starting) {
            TaskPhase::Sampling { response, .. } => {
                self.keep_partial(task, out, response)?;
                no_calls()
            }
            TaskPhase::Calling(calls) => calls,
            TaskPhase::Compacting(compacting) => {
                let item = super::compaction::item(compacting.item, WorkStatus::Failed);
                out.emit(&task.id, self.completed_events(&task.id, vec![item]))?;
                no_calls()
            }
            TaskPhase::Starting | TaskPhase::Equipping { .. } | TaskPhase::Leaving { .. } => {
                no_calls()
            }
            TaskPhase::Shell => {
                self.shells.cancel_of(&task.id);
                no_calls()
            }
            phase @ (TaskPhase::Stopping(_) | TaskPhase::Over) => {
                task.phase = phase;
                return Ok(());
            }
        };
        self.withdraw(task, out, why, calls).await
    }

    async fn withdraw(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        why: StopCause,
        mut calls: CycleCalls,
    ) -> Result<(), StoreError> {
        let withdrawn = calls.stop(why.reason);
        if matches!(why.reason, AbortReason::Interrupted | AbortReason::Shutdown) {
            self.shells.cancel_all();
        }
        task.enter(TaskPhase::Stopping(StoppingTask {
            why,
            calls,
            deadline: tokio::time::Instant::now() + Duration::from_millis(STOP_GRACE_MS),
        }));
        for (call_id, word) in &withdrawn {
            self.services.host.question_answered(call_id, word);
        }
        let resolved = withdrawn.into_iter();
        let resolved = resolved.map(|(call_id, word)| word.event(call_id));
        out.emit(&task.id, resolved.collect())?;
        self.finish_stop_if_clean(task, out).await
    }

    /// Ends the task for good once nothing of it cleans up any more.
    pub(super) async fn finish_stop_if_clean(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
    ) -> Result<(), StoreError> {
        let running = task.calls().is_some_and(|calls| calls.is_running());
        if running || self.shells.are_stopping() {
            return Ok(());
        }
        self.finish_stop(task, out).await
    }

    /// Ends the task for good. Calls that still run are dropped, their processes with them.
    async fn finish_stop(&mut self, task: &mut Task, out: &mut Emitter) -> Result<(), StoreError> {
        self.services.host.settings(&self.settings.context);
        // A task whose end is not recorded is ended by who takes the error.
        let receipts = self.record_end(task, out).await?;
        task.enter(TaskPhase::Over);
        out.commit().await?;
        for receipt in receipts {
            WriteAck::tell_written(receipt);
        }
        Ok(())
    }

    async fn record_end(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
    ) -> Result<[Option<WriteAck>; 2], StoreError> {
        let undelivered = task.take_undelivered();
        self.drop_shells(out, ShellDropScope::Cancelled)?;
        let TaskPhase::Stopping(stopping) = &mut task.phase else {
            return Ok([None, None]);
        };
        if stopping.why.reason == AbortReason::Interrupted {
            // What earlier calls left running in the background ends too.
            let grace = Duration::from_millis(STOP_GRACE_MS);
            let ended = tokio::time::timeout(grace, self.tools.shutdown()).await;
            if ended.is_err() {
                let message = "a command in the background was killed and has not ended yet";
                out.warn(&task.id, message.to_owned())?;
            }
        }
        for (steer, error) in undelivered {
            out.error(&steer, error)?;
        }
        stopping.calls.answer_rest();
        let DueAnswers {
            mut answers,
            claims,
        } = stopping.calls.take_recordable();
        if stopping.why.reason == AbortReason::Interrupted {
            answers.push(ResponseItem::user_text(context::interrupted(
                &stopping.why.by,
            )));
        }
        let items = stopping.calls.take_open_items().into_iter();
        let items: Vec<TurnItem> = items.map(as_failed).collect();
        let error = stopping.why.error.take();
        let reason = stopping.why.reason;
        for item in &items {
            task.seen.completed(item);
        }
        out.emit(&task.id, self.completed_events(&task.id, items))?;
        let claiming = self.claiming(claims).await;
        let EndedTask {
            fact: files,
            warnings,
        } = self.files_changed(&task.id).await;
        let why = stop_reason(task, reason, error.as_ref());
        let ending = self.ending(task, why, files.as_ref()).await;
        self.ledgers.note_agents(&claiming.records);
        self.ledgers.note_agents(&ending.records);
        let aborted = EventMsg::TurnAborted(task.aborted(reason));
        let warnings = warnings.into_iter();
        let warnings = warnings.map(|message| EventMsg::Warning { message });
        let msgs = error.map(EventMsg::Error).into_iter();
        let msgs = msgs.chain(warnings).chain([aborted]);
        let lines = claiming.records.into_iter().map(EmittedLine::Record);
        let lines = lines.chain(answers.iter().map(EmittedLine::item));
        let files = files.map(|fact| RolloutRecord::Files(Box::new(fact)));
        let records = files.into_iter().chain(ending.records);
        let lines = lines.chain(records.map(EmittedLine::Record));
        out.write_lines(lines.chain(msgs.map(|msg| EmittedLine::event(&task.id, msg))))?;
        self.ledgers.history.extend(answers);
        self.ledgers.tell_untold(out)?;
        Ok([claiming.receipt, ending.receipt])
    }

    /// Ends a task that cannot be recorded. Returns the ends of the items that people saw begin.
    async fn give_up(&self, task: &mut Task, error: &ErrorEvent) -> Vec<EventMsg> {
        self.services.host.settings(&self.settings.context);
        let items = match std::mem::replace(&mut task.phase, TaskPhase::Starting) {
            TaskPhase::Sampling { response, .. } => response.abandon().items,
            TaskPhase::Calling(mut calls) => {
                for (call_id, word) in calls.stop(AbortReason::Error) {
                    self.services.host.question_answered(&call_id, &word);
                }
                calls.take_open_items()
            }
            TaskPhase::Compacting(compacting) => {
                vec![super::compaction::item(compacting.item, WorkStatus::Failed)]
            }
            TaskPhase::Stopping(mut stopping) => stopping.calls.take_open_items(),
            TaskPhase::Starting
            | TaskPhase::Equipping { .. }
            | TaskPhase::Shell
            | TaskPhase::Leaving { .. }
            | TaskPhase::Over => Vec::new(),
        };
        let items: Vec<TurnItem> = items.into_iter().map(as_failed).collect();
        for item in &items {
            task.seen.completed(item);
        }
        if !task.is_told {
            // The log cannot be written: nobody could be told of its warnings.
            let files = self.files_changed(&task.id).await.fact;
            let why = stop_reason(task, AbortReason::Error, Some(error));
            drop(self.ending(task, why, files.as_ref()).await);
        }
        self.completed_events(&task.id, items)
    }

    /// Ends what was shown of a response that will be asked for again.
    pub(super) fn drop_response(
        &self,
        task: &mut Task,
        out: &mut Emitter,
    ) -> Result<(), StoreError> {
        match std::mem::replace(&mut task.phase, TaskPhase::Starting) {
            TaskPhase::Sampling { response, .. } => {
                let items = response.abandon().items;
                out.emit(&task.id, self.completed_events(&task.id, items))
            }
            phase => {
                task.phase = phase;
                Ok(())
            }
        }
    }

    /// Keeps what people have read of a response that will not be finished.
    fn keep_partial(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        response: IncomingResponse,
    ) -> Result<(), StoreError> {
        if let Some(text) = response.last_message() {
            task.last_message = Some(text);
        }
        let partial = response.abandon();
        let records = partial
            .history
            .iter()
            .cloned()
            .map(RolloutRecord::ResponseItem)
            .collect();
        let msgs = self.completed_events(&task.id, partial.items);
        out.write(&task.id, records, msgs)?;
        self.ledgers.history.extend(partial.history);
        Ok(())
    }
}

/// A stop outside of a cycle has no calls to wait for.
fn no_calls() -> CycleCalls {
    CycleCalls::new(ResponseId::default(), TokenUsage::default(), &[])
}

pub(super) fn as_failed(mut item: TurnItem) -> TurnItem {
    match &mut item {
        TurnItem::CommandExecution(item) => item.status = WorkStatus::Failed,
        TurnItem::FileChange(item) => item.status = WorkStatus::Failed,
        TurnItem::McpToolCall(item) => item.status = WorkStatus::Failed,
        TurnItem::ToolCall(item) => item.status = WorkStatus::Failed,
        // Kinds without a status: being completed is all that can be said of them.
        _ => (),
    }
    item
}
