//! Commands of the user's own.
//!
//! ```text
//! idle   task_started ─► command ─► its output in the history ─► task_complete
//! busy   the command runs beside the task; its output goes with the next model request
//!        that is made after its end, or follows the task if none is made
//! ```
//!
//! Until it is told (`injecting`), the output is found in the log by the end of the command.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use troupe_protocol::command::CommandSource;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{ErrorEvent, EventMsg, ExecCommandOutputDelta};
use troupe_protocol::item::TurnItem;
use troupe_protocol::{CallId, ResponseItem, SubmissionId};
use troupe_store::StoreError;
use troupe_tools::{CallContext, ToolEvent, ToolInput, ToolInvocation, check_script};

use super::preparing::check_cwd;
use super::running::stale_request_error;
use super::stopping::as_failed;
use super::{Conversation, OpenSession};
use crate::calls::{CallOrigin, CallSignal};
use crate::context;
use crate::emit::Emitter;
use crate::host::{ActivityKind, StaleRequest};
use crate::limits::USER_SHELLS_MAX;
use crate::output::AnswerFormat;
use crate::task::{Task, TaskPhase};

/// The user's commands that run.
#[derive(Debug, Default)]
pub(super) struct UserShells {
    running: Vec<RunningShell>,
}

#[derive(Debug)]
struct RunningShell {
    call_id: CallId,
    submission: SubmissionId,
    /// The task that it is, or runs beside.
    turn_id: SubmissionId,
    /// As people saw it begin.
    item: Option<TurnItem>,
    cancel: CancellationToken,
    /// Dropping it ends the command.
    _task: AbortOnDropHandle<()>,
}

/// Which commands are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShellDropScope {
    /// Those that were told to end and have not.
    Cancelled,
    All,
}

impl UserShells {
    /// Tells every command to end. Returns whether there was one.
    pub(super) fn cancel_all(&self) -> bool {
        for running in &self.running {
            running.cancel.cancel();
        }
        !self.running.is_empty()
    }

    /// Tells the commands of a task to end.
    pub(super) fn cancel_of(&self, task: &SubmissionId) {
        for running in self.running.iter().filter(|one| one.turn_id == *task) {
            running.cancel.cancel();
        }
    }

    pub(super) fn are_stopping(&self) -> bool {
        let mut running = self.running.iter();
        running.any(|running| running.cancel.is_cancelled())
    }

    fn find(&mut self, call_id: &CallId) -> Option<&mut RunningShell> {
        let mut running = self.running.iter_mut();
        running.find(|running| running.call_id == *call_id)
    }
}

impl OpenSession {
    /// Tells whether anything runs that was asked for.
    pub(crate) fn is_busy(&self) -> bool {
        let conversation = &self.conversation;
        self.task.is_some()
            || !conversation.shells.running.is_empty()
            || conversation.is_listing()
            || conversation.is_listing_skills()
            || conversation.is_offering()
    }

    /// Runs a command of the user's own.
    pub(crate) async fn run_user_shell(
        &mut self,
        out: &mut Emitter,
        id: SubmissionId,
        command: String,
    ) -> Result<(), StoreError> {
        let conversation = &mut self.conversation;
        let context = self.task.as_ref().map(|task| &task.context);
        let context = context.unwrap_or(&conversation.settings.context);
        if let Err(refusal) = conversation.shells.check(&command, &context.cwd) {
            return out.error(&id, refusal);
        }
        let task = if let Some(task) = &mut self.task {
            task
        } else {
            let starting = match conversation.services.host.starting(&id, None).await {
                Ok(lines) => lines,
                Err(StaleRequest) => return out.error(&id, stale_request_error()),
            };
            let free = AnswerFormat::Free;
            let mut task = conversation.open_task(out, id.clone(), free, None, starting)?;
            task.enter(TaskPhase::Shell);
            conversation.set_activity(ActivityKind::Tools(vec!["user_shell".to_owned()]));
            self.task.insert(task)
        };
        conversation.start_user_shell(task, id, command);
        Ok(())
    }

    /// Takes a signal of a command of the user's. One that was dropped is ignored.
    pub(super) async fn shell_signal(
        &mut self,
        out: &mut Emitter,
        call_id: &CallId,
        signal: CallSignal,
    ) -> Result<(), StoreError> {
        let conversation = &mut self.conversation;
        match signal {
            CallSignal::Event(event) => conversation.shell_event(out, call_id, event),
            // Nothing is asked about what a user does; dropping the reply refuses.
            CallSignal::Ask(_) | CallSignal::Settled(_) | CallSignal::MayStop(_) => Ok(()),
            CallSignal::Answered { .. } => {
                let running = &mut conversation.shells.running;
                let Some(index) = running.iter().position(|one| one.call_id == *call_id) else {
                    return Ok(());
                };
                let ended = running.remove(index);
                conversation.close_shell(out, ended)?;
                let Some(task) = &mut self.task else {
                    conversation.ledgers.tell_untold(out)?;
                    return out.commit().await;
                };
                let done = conversation.shell_over(task, out).await;
                self.drop_ended_task();
                done
            }
        }
    }
}

impl UserShells {
    /// Refuses a command that cannot run in this directory, or not now.
    fn check(&self, command: &str, cwd: &Path) -> Result<(), ErrorEvent> {
        let refusal = |message: String| ErrorEvent {
            message,
            fatal: false,
            error_info: Some(ErrorInfo::InvalidSubmission),
        };
        check_script(command).map_err(refusal)?;
        if self.running.len() >= USER_SHELLS_MAX {
            return Err(refusal(format!(
                "{USER_SHELLS_MAX} commands of yours run already; wait for one, or interrupt"
            )));
        }
        check_cwd(cwd)
    }
}

impl Conversation {
    fn start_user_shell(&mut self, task: &Task, submission: SubmissionId, command: String) {
        let call_id = CallId(self.services.ids.item("shell").0);
        let cancel = CancellationToken::new();
        let channel = self.services.channel(CallOrigin::User, call_id.clone());
        let channel = Arc::new(channel);
        let items = self.ledgers.history.items().len();
        let context: CallContext = task.call_context(self.id(), items);
        let turn_id = task.id.clone();
        let call = ToolInvocation {
            id: call_id.clone(),
            input: ToolInput::Text(command),
            context: Arc::new(context),
            channel: Arc::clone(&channel) as _,
            cancel: cancel.clone(),
            aborted: Arc::default(),
        };
        let tools = Arc::clone(&self.tools);
        let run = tokio::spawn(async move {
            let output = tools.user_command(call).await;
            channel
                .send(CallSignal::Answered { index: 0, output })
                .await;
        });
        self.shells.running.push(RunningShell {
            call_id,
            submission,
            turn_id,
            item: None,
            cancel,
            _task: AbortOnDropHandle::new(run),
        });
    }

    fn shell_event(
        &mut self,
        out: &mut Emitter,
        call_id: &CallId,
        event: ToolEvent,
    ) -> Result<(), StoreError> {
        let Some(running) = self.shells.find(call_id) else {
            return Ok(());
        };
        let id = running.submission.clone();
        match event {
            ToolEvent::Started(item) => {
                running.item = Some(item.clone());
                let turn_id = running.turn_id.clone();
                let event = self.started_event(&turn_id, item);
                out.emit(&id, vec![event])
            }
            ToolEvent::Output { stream, bytes } => out.delta(
                &id,
                EventMsg::ExecCommandOutputDelta(ExecCommandOutputDelta {
                    call_id: call_id.clone(),
                    stream,
                    chunk: base64::engine::general_purpose::STANDARD.encode(&bytes),
                }),
            ),
            ToolEvent::Completed(item) => {
                running.item = None;
                let turn_id = running.turn_id.clone();
                self.shell_completed(out, &id, &turn_id, item)
            }
            ToolEvent::Warning(message) | ToolEvent::HookWarning(message) => out.warn(&id, message),
            ToolEvent::Plan { .. }
            | ToolEvent::TerminalInteraction { .. }
            | ToolEvent::Editing(_)
            | ToolEvent::Files(_)
            | ToolEvent::Other(_) => Ok(()),
        }
    }

    fn shell_completed(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        turn_id: &SubmissionId,
        item: TurnItem,
    ) -> Result<(), StoreError> {
        let told = output_for_model(&item);
        let events = self.completed_events(turn_id, vec![item]);
        out.emit(id, events)?;
        self.ledgers.untold.extend(told);
        Ok(())
    }

    /// Shows the end of a command that did not show it by itself.
    fn close_shell(&mut self, out: &mut Emitter, ended: RunningShell) -> Result<(), StoreError> {
        match ended.item {
            Some(item) => {
                self.shell_completed(out, &ended.submission, &ended.turn_id, as_failed(item))
            }
            None => Ok(()),
        }
    }

    /// Goes on after the end of a command.
    async fn shell_over(&mut self, task: &mut Task, out: &mut Emitter) -> Result<(), StoreError> {
        match task.phase {
            TaskPhase::Stopping(_) => self.finish_stop_if_clean(task, out).await,
            TaskPhase::Shell => {
                let mut running = self.shells.running.iter();
                if running.any(|running| running.turn_id == task.id) {
                    return Ok(());
                }
                self.ledgers.tell_untold(out)?;
                // What was said meanwhile was said to the model.
                if self.deliver_steered(task, out).await? {
                    return self.sample(task, out).await;
                }
                self.complete_task(task, out).await
            }
            TaskPhase::Starting
            | TaskPhase::Leaving { .. }
            | TaskPhase::Equipping { .. }
            | TaskPhase::Sampling { .. }
            | TaskPhase::Calling(_)
            | TaskPhase::Compacting(_)
            | TaskPhase::Over => Ok(()),
        }
    }

    /// Ends commands at once; of what they wrote nothing more is known.
    pub(super) fn drop_shells(
        &mut self,
        out: &mut Emitter,
        which: ShellDropScope,
    ) -> Result<(), StoreError> {
        let is_meant = |running: &mut RunningShell| {
            which == ShellDropScope::All || running.cancel.is_cancelled()
        };
        let dropped: Vec<RunningShell> = self.shells.running.extract_if(.., is_meant).collect();
        for running in dropped {
            self.close_shell(out, running)?;
        }
        Ok(())
    }

    /// Ends every command because the conversation is left.
    pub(crate) fn end_shells(&mut self, out: &mut Emitter) -> Result<(), StoreError> {
        self.drop_shells(out, ShellDropScope::All)?;
        self.ledgers.tell_untold(out)
    }
}

/// Returns what the model is to be told of an item, if it is a command of the user's own that
/// is over.
pub(crate) fn output_for_model(item: &TurnItem) -> Option<ResponseItem> {
    match item {
        TurnItem::CommandExecution(item) if item.source == CommandSource::UserShell => {
            Some(ResponseItem::user_text(context::user_shell(item)))
        }
        _ => None,
    }
}
