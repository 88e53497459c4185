//! Requests of clients besides a turn: answers to questions, settings, rollback.

use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::discard;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{ErrorEvent, EventMsg};
use troupe_protocol::policy::CollaborationMode;
use troupe_protocol::rollout::{RewindReason, RewindRecord, RolloutRecord};
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::{CallId, SubmissionId};
use troupe_store::StoreError;

use super::preparing::check_overrides;
use super::{Conversation, OpenSession};
use crate::calls::{CycleCalls, OpenAsk};
use crate::emit::Emitter;
use crate::host::StopRequester;
use crate::inquiry::{AnswerRefusal, InquiryAnswer};
use crate::response::plans;
use crate::task::{StopCause, Task, TaskPhase};

impl OpenSession {
    /// Answers every open question as one that nobody answers, and all that will be asked.
    pub(crate) async fn refuse_questions(&mut self, out: &mut Emitter) -> Result<(), StoreError> {
        self.conversation.leave_unattended();
        let Some(task) = &mut self.task else {
            return Ok(());
        };
        let done = self.conversation.refuse_questions(task, out).await;
        self.drop_ended_task();
        done
    }

    /// Takes a client's word on a call, here or elsewhere in the tree.
    pub(crate) async fn decide(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        call_id: CallId,
        word: InquiryAnswer,
    ) -> Result<(), StoreError> {
        let checked = match self.task.as_mut().and_then(Task::calls) {
            Some(calls) => calls.check_word(&call_id, &word),
            None => Err(AnswerRefusal::Unknown {
                id: call_id.0.clone(),
            }),
        };
        let host = &self.conversation.services.host;
        let taken = match checked {
            Ok(()) => return self.record_answer(out, &call_id, word.settled()).await,
            Err(AnswerRefusal::Unknown { .. }) => host.decide(call_id.as_str(), word).await,
            Err(unfit) => Err(unfit),
        };
        match taken {
            Ok(()) => Ok(()),
            Err(not_taken) => out.error(id, refusal(&not_taken)),
        }
    }

    /// Takes the word on a call, if a task runs that waits for it.
    pub(crate) async fn record_answer(
        &mut self,
        out: &mut Emitter,
        call_id: &CallId,
        word: InquiryAnswer,
    ) -> Result<(), StoreError> {
        let Some(task) = &mut self.task else {
            return Ok(());
        };
        let done = self.conversation.record_answer(task, out, call_id, word);
        let done = done.await;
        self.drop_ended_task();
        done
    }

    /// Takes the last turns out of the history, unless a task runs.
    pub(crate) async fn roll_back(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        num_turns: u32,
    ) -> Result<(), StoreError> {
        if self.task.is_some() {
            return out.error(id, rollback_failed("a task is running; interrupt it first"));
        }
        self.conversation.roll_back(out, id, num_turns).await
    }

    /// Changes settings for the tasks to come.
    pub(crate) fn override_context(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        overrides: TurnOverrides,
    ) -> Result<(), StoreError> {
        let settings = &mut self.conversation.settings;
        if let Err(refusal) = check_overrides(&settings.context, &overrides) {
            return out.error(id, refusal);
        }
        let context = settings.context.with(overrides);
        out.write(
            id,
            vec![RolloutRecord::TurnContext(context.clone())],
            vec![EventMsg::TurnContextUpdated(context.clone())],
        )?;
        settings.set_context(context);
        let host = &self.conversation.services.host;
        host.settings(self.turn_context());
        Ok(())
    }
}

impl Conversation {
    /// From now on nobody answers.
    fn leave_unattended(&mut self) {
        self.unattended = true;
        self.services.host.unattended();
    }

    /// Puts a call's question to the user.
    pub(super) async fn ask(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        call_id: CallId,
        ask: OpenAsk,
    ) -> Result<(), StoreError> {
        // A task that is being stopped asks nothing more: dropping the reply refuses.
        let TaskPhase::Calling(calls) = &mut task.phase else {
            return Ok(());
        };
        out.emit(&task.id, vec![ask.question.clone().event()])?;
        calls.asked(call_id.clone(), ask);
        if self.unattended {
            self.leave_unattended();
            return self.refuse_questions(task, out).await;
        }
        out.commit().await?;
        if let Some(question) = task.calls().and_then(|calls| calls.question(&call_id)) {
            self.services.host.question_asked(&call_id, question);
        }
        Ok(())
    }

    /// Answers every open question of the task as one that nobody answers.
    async fn refuse_questions(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
    ) -> Result<(), StoreError> {
        let open = task.calls().map(|calls| calls.refusals());
        for (call_id, word) in open.unwrap_or_default() {
            self.record_answer(task, out, &call_id, word).await?;
        }
        Ok(())
    }

    /// Takes the word on a call, if it waits for it. It is on disk before the call hears it.
    async fn record_answer(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        call_id: &CallId,
        word: InquiryAnswer,
    ) -> Result<(), StoreError> {
        let waits = |calls: &mut CycleCalls| calls.check_word(call_id, &word).is_ok();
        if !task.calls().is_some_and(waits) {
            return Ok(());
        }
        out.emit(&task.id, vec![word.clone().event(call_id.clone())])?;
        out.commit().await?;
        self.services.host.question_answered(call_id, &word);
        let aborts = word == InquiryAnswer::Decision(ReviewDecision::Abort);
        if let Some(ask) = task.calls().and_then(|calls| calls.take_ask(call_id)) {
            // A call that is gone has been answered otherwise.
            discard!(ask.reply.send(word), "nobody waits for the answer");
        }
        if aborts {
            let stop = StopCause::interrupted(StopRequester::default());
            self.stop(task, out, stop).await?;
        }
        Ok(())
    }

    /// Takes the word that was given to the same question elsewhere.
    pub(super) async fn record_outside_answer(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        call_id: &CallId,
        word: InquiryAnswer,
    ) -> Result<(), StoreError> {
        if self.services.host.question_settled(call_id, &word) {
            return Ok(());
        }
        self.record_answer(task, out, call_id, word).await
    }

    /// Withdraws the question of a call that waits for the answer no longer.
    pub(super) fn drop_question(
        &self,
        task: &mut Task,
        out: &mut Emitter,
        call_id: &CallId,
    ) -> Result<(), StoreError> {
        let Some(ask) = task.calls().and_then(|calls| calls.take_ask(call_id)) else {
            return Ok(());
        };
        let word = InquiryAnswer::withdrawal(&ask.question);
        self.services.host.question_answered(call_id, &word);
        out.emit(&task.id, vec![word.event(call_id.clone())])
    }

    /// Takes the last turns out of the history.
    async fn roll_back(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        num_turns: u32,
    ) -> Result<(), StoreError> {
        let start = match self.ledgers.history.turn_start(num_turns as usize) {
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
        let rewind = RewindRecord {
            to: start.position.0,
            reason: RewindReason::Rollback { num_turns },
            carried: self.carried(out),
        };
        out.write(
            id,
            vec![RolloutRecord::Rewind(Box::new(rewind))],
            vec![EventMsg::ThreadRolledBack { num_turns }],
        )?;
        self.ledgers.cut_history(start.len);
        out.commit().await
    }

    pub(crate) fn set_name(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        name: &str,
    ) -> Result<(), StoreError> {
        let thread_name = normalised(name);
        let event = EventMsg::ThreadNameUpdated {
            thread_name: thread_name.clone(),
        };
        out.emit(id, vec![event])?;
        self.ledgers.thread_name = thread_name;
        Ok(())
    }

    pub(crate) fn set_note(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        note: &str,
    ) -> Result<(), StoreError> {
        let thread_note = normalised(note);
        let event = EventMsg::ThreadNoteUpdated {
            thread_note: thread_note.clone(),
        };
        out.emit(id, vec![event])?;
        self.ledgers.thread_note = thread_note;
        Ok(())
    }

    /// Returns what the model said last, as it was shown.
    pub(super) fn last_said(&self) -> Option<String> {
        let text = self.ledgers.history.last_assistant_message()?;
        Some(match self.settings.context.collaboration_mode {
            CollaborationMode::Plan => plans::without_tags(&text),
            CollaborationMode::Default => text,
        })
    }
}

/// Collapses white space; nothing is left of an empty text.
fn normalised(text: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

fn refusal(not_taken: &AnswerRefusal) -> ErrorEvent {
    let error_info = match not_taken {
        AnswerRefusal::Unknown { .. } => ErrorInfo::NotFound,
        AnswerRefusal::Unfit { .. } => ErrorInfo::InvalidSubmission,
    };
    ErrorEvent {
        message: not_taken.to_string(),
        fatal: false,
        error_info: Some(error_info),
    }
}

fn rollback_failed(message: &str) -> ErrorEvent {
    ErrorEvent {
        message: message.to_owned(),
        fatal: false,
        error_info: Some(ErrorInfo::ThreadRollbackFailed),
    }
}
