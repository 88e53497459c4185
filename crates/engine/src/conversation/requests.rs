//! What a client may ask besides a turn: approvals, settings, going back.

use tokio::sync::oneshot;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{ErrorEvent, EventMsg};
use troupe_protocol::rollout::{Rewind, RewindReason, RolloutRecord};
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::{CallId, ResponseId, SubmissionId};
use troupe_store::Error;
use troupe_tools::Ask;

use super::Conversation;
use super::preparing::check_directory;
use crate::emit::Emitter;
use crate::task::{Phase, Stop};

impl Conversation {
    /// Puts a call's question to the user.
    pub(super) async fn ask(
        &mut self,
        out: &mut Emitter,
        call_id: CallId,
        ask: Ask,
        reply: oneshot::Sender<ReviewDecision>,
    ) -> Result<(), Error> {
        let Some(task) = &mut self.task else {
            return Ok(());
        };
        // A task that is being stopped asks nothing more: dropping the reply refuses.
        let Phase::Calling(calls) = &mut task.phase else {
            return Ok(());
        };
        let event = match ask.clone() {
            Ask::Exec(request) => EventMsg::ExecApprovalRequest(request),
            Ask::Patch(request) => EventMsg::ApplyPatchApprovalRequest(request),
        };
        out.emit(&task.id, vec![event])?;
        calls.asked(call_id.clone(), reply);
        if self.unattended {
            return self.refuse_questions(out).await;
        }
        out.commit().await?;
        self.asking(&call_id, &ask);
        Ok(())
    }

    /// Answers every open question with no, and all that will be asked.
    pub(crate) async fn refuse_questions(&mut self, out: &mut Emitter) -> Result<(), Error> {
        self.unattended = true;
        if let Some(host) = &self.host {
            host.unattended();
        }
        let open = self.calls().map(|calls| calls.open_asks());
        for call_id in open.unwrap_or_default() {
            let nobody = SubmissionId::default();
            self.decide(out, &nobody, call_id, ReviewDecision::Denied)
                .await?;
        }
        Ok(())
    }

    /// Takes the user's word on a call. It is on disk before the call hears it.
    pub(crate) async fn decide(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        call_id: CallId,
        decision: ReviewDecision,
    ) -> Result<(), Error> {
        let known = self.calls().is_some_and(|calls| calls.has_ask(&call_id));
        let (true, Some(task_id)) = (known, self.task_id()) else {
            if self.decide_elsewhere(&call_id, decision).await {
                return Ok(());
            }
            return out.error(
                id,
                ErrorEvent {
                    message: format!(
                        "no approval is asked for under {call_id}; it was answered before, or its \
                         task is over"
                    ),
                    fatal: false,
                    error_info: Some(ErrorInfo::NotFound),
                },
            );
        };
        let resolved = EventMsg::ApprovalResolved {
            call_id: call_id.clone(),
            decision,
        };
        out.emit(&task_id, vec![resolved])?;
        out.commit().await?;
        if let Some(reply) = self.calls().and_then(|calls| calls.take_ask(&call_id)) {
            // A call that is gone has been answered otherwise.
            reply.send(decision).ok();
        }
        self.answered(&call_id, decision);
        if decision == ReviewDecision::Abort {
            self.stop(out, Stop::interrupted()).await?;
        }
        Ok(())
    }

    /// Changes settings for the tasks to come.
    pub(crate) fn override_context(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        overrides: TurnOverrides,
    ) -> Result<(), Error> {
        if let Err(refusal) = check_directory(&overrides) {
            return out.error(id, refusal);
        }
        let context = self.context.with(overrides);
        out.write(
            id,
            vec![RolloutRecord::TurnContext(context.clone())],
            vec![EventMsg::TurnContextUpdated(context.clone())],
        )?;
        self.context = context;
        Ok(())
    }

    /// Takes the last turns out of the history.
    pub(crate) async fn roll_back(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        num_turns: u32,
    ) -> Result<(), Error> {
        if self.task.is_some() {
            return out.error(id, rollback_failed("a task is running; interrupt it first"));
        }
        let start = match self.history.turn_start(num_turns as usize) {
            Ok(start) => start.clone(),
            Err(available) => {
                let message = match available {
                    0 => "there is no turn to take back since the session began or was compacted"
                        .to_owned(),
                    _ => format!(
                        "{num_turns} turns cannot be taken back; between 1 and {available} can"
                    ),
                };
                return out.error(id, rollback_failed(&message));
            }
        };
        let rewind = Rewind {
            to: start.position.0,
            reason: RewindReason::Rollback { num_turns },
            carried: self.carried(out),
        };
        out.write(
            id,
            vec![RolloutRecord::Rewind(Box::new(rewind))],
            vec![EventMsg::ThreadRolledBack { num_turns }],
        )?;
        self.history.truncate(start.len);
        self.usage.counted = None;
        out.commit().await
    }

    pub(crate) fn set_name(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        name: &str,
    ) -> Result<(), Error> {
        let thread_name = normalised(name);
        let event = EventMsg::ThreadNameUpdated {
            thread_name: thread_name.clone(),
        };
        out.emit(id, vec![event])?;
        self.thread_name = thread_name;
        Ok(())
    }

    pub(crate) fn set_note(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        note: &str,
    ) -> Result<(), Error> {
        let thread_note = normalised(note);
        let event = EventMsg::ThreadNoteUpdated {
            thread_note: thread_note.clone(),
        };
        out.emit(id, vec![event])?;
        self.thread_note = thread_note;
        Ok(())
    }

    pub(super) fn last_response_id(&self) -> Option<ResponseId> {
        self.history
            .last_bookmark()
            .map(|bookmark| bookmark.response_id.clone())
    }
}

/// Collapses white space; nothing is left of an empty text.
fn normalised(text: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

fn rollback_failed(message: &str) -> ErrorEvent {
    ErrorEvent {
        message: message.to_owned(),
        fatal: false,
        error_info: Some(ErrorInfo::ThreadRollbackFailed),
    }
}
