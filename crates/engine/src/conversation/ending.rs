//! The end of a task: its answer is judged, its result made, and both are written in one
//! piece with the event that tells of it.

use std::sync::Arc;

use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, ErrorEvent, EventMsg};
use troupe_protocol::result::{Evidence, StopReason, StructuredOutput, TaskResult};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::undo::FileFact;
use troupe_protocol::{ResponseItem, TaskOutcome};
use troupe_store::StoreError;
use troupe_tools::undo::EndedTask;

use super::Conversation;
use crate::emit::{EmittedLine, Emitter};
use crate::host::{ActivityKind, WriteAck, WriteBatch};
use crate::output::AnswerVerdict;
use crate::task::{StopCause, Task, TaskPhase};

impl Conversation {
    /// Ends the task, if its answer is as it was asked for. If not, the model gets one more
    /// try.
    pub(super) async fn conclude(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
    ) -> Result<(), StoreError> {
        match task.output.judge(task.last_message.as_deref()) {
            AnswerVerdict::Accepted => {
                task.last_message = task.last_message.take().map(|it| task.output.said(it));
                self.leave(task, out).await
            }
            AnswerVerdict::Repair(request) => {
                let message = "the answer does not fit its output schema; it is asked for again";
                let warning = EventMsg::Warning {
                    message: message.to_owned(),
                };
                let request = ResponseItem::user_text(request);
                let id = task.id.clone();
                out.write_lines([
                    EmittedLine::item(&request),
                    EmittedLine::event(&id, warning),
                ])?;
                self.ledgers.history.push(request);
                Box::pin(self.sample(task, out)).await
            }
            AnswerVerdict::Rejected(message) => {
                task.enter(TaskPhase::Starting);
                let stop = StopCause::fatal(AbortReason::Error, message, ErrorInfo::OutputInvalid);
                self.stop(task, out, stop).await
            }
        }
    }

    /// Ends a task that did what it was asked for.
    pub(super) async fn complete_task(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
    ) -> Result<(), StoreError> {
        self.ledgers.tell_untold(out)?;
        self.services.host.settings(&self.settings.context);
        let EndedTask {
            fact: files,
            warnings,
        } = self.files_changed(&task.id).await;
        let ending = self
            .ending(task, StopReason::Completed, files.as_ref())
            .await;
        self.ledgers.note_agents(&ending.records);
        let complete = EmittedLine::event(&task.id, EventMsg::TurnComplete(task.completed()));
        let files = files.map(|fact| RolloutRecord::Files(Box::new(fact)));
        let warnings = warnings.into_iter();
        let warnings =
            warnings.map(|message| EmittedLine::event(&task.id, EventMsg::Warning { message }));
        let lines = files
            .into_iter()
            .chain(ending.records)
            .map(EmittedLine::Record);
        let lines = lines.chain(warnings);
        // A task whose end is not recorded is ended by who takes the error.
        out.write_lines(lines.chain([complete]))?;
        task.enter(TaskPhase::Over);
        out.commit().await?;
        WriteAck::tell_written(ending.receipt);
        Ok(())
    }

    /// Tells the tree what the task came to, and what it did to files. Returns the lines that
    /// go with its end.
    pub(super) async fn ending(
        &self,
        task: &mut Task,
        stop: StopReason,
        files: Option<&FileFact>,
    ) -> WriteBatch {
        self.set_activity(ActivityKind::Idle);
        task.is_told = true;
        task.span.in_scope(|| {
            let (cycles, compactions) = (task.cycles, task.compactions);
            let ran_ms = task.started.elapsed().as_millis();
            tracing::info!(
                stop = TaskOutcome::from(&stop).as_str(),
                cycles,
                compactions,
                ran_ms,
                "the task ends"
            );
        });
        let host = Arc::clone(&self.services.host);
        let mut seen = std::mem::take(&mut task.seen);
        if let Some(fact) = files {
            seen.filed(fact);
        }
        let evidence = if host.has_tree() {
            seen.finish(self.services.clock.now_ms()).await
        } else {
            Evidence::default()
        };
        let result = TaskResult {
            session_id: self.id(),
            task_id: task.id.clone(),
            stop,
            last_message: task.last_message.clone(),
            output: task.output.structured_output().cloned(),
            evidence,
        };
        host.ending(result).await
    }
}

/// Returns why a task that was aborted is over.
pub(super) fn stop_reason(
    task: &Task,
    reason: AbortReason,
    error: Option<&ErrorEvent>,
) -> StopReason {
    let message = error.map(|error| error.message.clone());
    match reason {
        AbortReason::Replaced => StopReason::Replaced,
        AbortReason::Shutdown => StopReason::Shutdown,
        AbortReason::Crash => StopReason::Crash,
        AbortReason::BudgetLimited => StopReason::BudgetExceeded,
        AbortReason::Error => match task.output.structured_output() {
            Some(StructuredOutput::Invalid { .. }) => StopReason::OutputInvalid {
                message: message.unwrap_or_default(),
            },
            Some(StructuredOutput::Valid { .. }) | None => StopReason::Errored {
                message: message.unwrap_or_default(),
                info: error.and_then(|error| error.error_info.clone()),
            },
        },
        // Ended by somebody's wish, whatever a later version calls it.
        _ => StopReason::Interrupted,
    }
}
