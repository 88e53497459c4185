//! Between the model's last word and the end of a task: the user's hooks may have it go on.

use tokio_util::task::AbortOnDropHandle;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::AbortReason;
use troupe_protocol::{CallId, ResponseItem};
use troupe_store::StoreError;
use troupe_tools::hooks::HookRefusal;

use super::Conversation;
use crate::calls::{CallOrigin, CallSignal};
use crate::context;
use crate::emit::{EmittedLine, Emitter};
use crate::limits::STOP_REFUSALS_MAX;
use crate::task::{StopCause, Task, TaskPhase};

impl Conversation {
    /// Ends the task, after asking the hooks that want to be.
    pub(super) async fn leave(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
    ) -> Result<(), StoreError> {
        let hooks = self.tools.hooks().filter(|hooks| hooks.watches_stop());
        let Some(hooks) = hooks.cloned() else {
            return self.complete_task(task, out).await;
        };
        let context = self.call_context(task);
        let last_message = task.last_message.clone();
        let caller = CallOrigin::Model { epoch: task.epoch };
        let channel = self.services.channel(caller, CallId("on_stop".to_owned()));
        let asking = AbortOnDropHandle::new(tokio::spawn(async move {
            let verdict = hooks
                .on_stop(&context, last_message.as_deref(), &channel)
                .await;
            channel.send(CallSignal::MayStop(verdict)).await;
        }));
        task.enter(TaskPhase::Leaving { _asking: asking });
        Ok(())
    }

    /// Takes what the hooks say. What came meanwhile is a reason to go on in any case.
    pub(super) async fn may_stop(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        verdict: Result<(), HookRefusal>,
    ) -> Result<(), StoreError> {
        let TaskPhase::Leaving { .. } = task.phase else {
            return Ok(());
        };
        task.enter(TaskPhase::Starting);
        match verdict {
            Err(refusal) if task.stops_refused < STOP_REFUSALS_MAX => {
                task.stops_refused += 1;
                let item = ResponseItem::user_text(context::objection(&refusal));
                out.write_lines([EmittedLine::item(&item)])?;
                self.ledgers.history.push(item);
                return self.sample(task, out).await;
            }
            Err(HookRefusal { hook, reason }) => {
                let message = format!(
                    "hook {hook} refuses the end of this task, also after the model went on \
                     {STOP_REFUSALS_MAX} times: {reason}"
                );
                let stop = StopCause::fatal(AbortReason::Error, message, ErrorInfo::HookRefused);
                return self.stop(task, out, stop).await;
            }
            Ok(()) => {}
        }
        if self.deliver_steered(task, out).await? {
            return self.sample(task, out).await;
        }
        self.complete_task(task, out).await
    }
}
