//! Between the model's last word and the end of a task: the user's hooks may have it go on.

use tokio_util::task::AbortOnDropHandle;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::AbortReason;
use troupe_protocol::{CallId, ResponseItem};
use troupe_store::StoreError;
use troupe_tools::hooks::HookRefusal;

use super::Conversation;
use crate::calls::{CallOrigin, CallSignal, SessionChannel};
use crate::context;
use crate::emit::{EmittedLine, Emitter};
use crate::limits::STOP_REFUSALS_MAX;
use crate::task::{StopCause, TaskPhase};

impl Conversation {
    /// Ends the task, after asking the hooks that want to be.
    pub(super) async fn leave(&mut self, out: &mut Emitter) -> Result<(), StoreError> {
        let hooks = self.tools.hooks().filter(|hooks| hooks.watches_stop());
        let (Some(hooks), Some(task)) = (hooks.cloned(), &self.task) else {
            return self.complete_task(out).await;
        };
        let context = self.call_context(task);
        let last_message = task.last_message.clone();
        let channel = SessionChannel {
            mailbox: self.mailbox.clone(),
            caller: CallOrigin::Model { epoch: task.epoch },
            call_id: CallId("on_stop".to_owned()),
        };
        let asking = AbortOnDropHandle::new(tokio::spawn(async move {
            let verdict = hooks
                .on_stop(&context, last_message.as_deref(), &channel)
                .await;
            channel.send(CallSignal::MayStop(verdict)).await;
        }));
        if let Some(task) = &mut self.task {
            task.enter(TaskPhase::Leaving { _asking: asking });
        }
        Ok(())
    }

    /// Takes what the hooks say. What came meanwhile is a reason to go on in any case.
    pub(super) async fn may_stop(
        &mut self,
        out: &mut Emitter,
        verdict: Result<(), HookRefusal>,
    ) -> Result<(), StoreError> {
        let Some(task) = &mut self.task else {
            return Ok(());
        };
        let TaskPhase::Leaving { .. } = task.phase else {
            return Ok(());
        };
        task.enter(TaskPhase::Starting);
        match verdict {
            Err(refusal) if task.stops_refused < STOP_REFUSALS_MAX => {
                task.stops_refused += 1;
                let item = ResponseItem::user_text(context::objection(&refusal));
                out.write_lines([EmittedLine::item(&item)])?;
                self.history.push(item);
                return self.sample(out).await;
            }
            Err(HookRefusal { hook, reason }) => {
                let message = format!(
                    "hook {hook} refuses the end of this task, also after the model went on \
                     {STOP_REFUSALS_MAX} times: {reason}"
                );
                let stop = StopCause::fatal(AbortReason::Error, message, ErrorInfo::HookRefused);
                return self.stop(out, stop).await;
            }
            Ok(()) => {}
        }
        if self.deliver_steered(out).await? {
            return self.sample(out).await;
        }
        self.complete_task(out).await
    }
}
