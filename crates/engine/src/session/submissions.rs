//! Submissions of clients: what each op does.

use std::sync::Arc;

use troupe_protocol::CallId;
use troupe_protocol::SubmissionId;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, EventMsg};
use troupe_protocol::mcp::ElicitationResponse;
use troupe_protocol::op::{ConfigureSession, Op, Submission};
use troupe_protocol::rollout::{RolloutRecord, SubmittedTask};
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::text::error_chain;
use troupe_store::StoreError;

use super::known_ids::{SubmissionSource, begins_task};
use super::{DeferredInput, Flow, SessionActor};
use crate::conversation::{
    Conversation, NewTask, OpenSession, ResumePoint, TaskRequester, check_model,
};
use crate::deps::SessionSetup;
use crate::inquiry::InquiryAnswer;
use crate::limits::DEFERRED_MAX;
use crate::skills::CatalogueFreshness;
use crate::task::StopCause;

impl SessionActor {
    /// Takes a submission from outside. A task goes by its id, so each needs one of its own.
    pub(super) async fn receive(
        &mut self,
        by: SubmissionSource,
        submission: Submission,
    ) -> Result<Flow, StoreError> {
        let id = &submission.id;
        if by == SubmissionSource::Program {
            return Box::pin(self.submission(submission)).await;
        }
        if id.as_str().trim().is_empty() {
            self.refuse(
                id,
                ErrorInfo::InvalidSubmission,
                "the submission has an empty id; give each one an id of its own",
            )?;
            return Ok(Flow::Continue(()));
        }
        let seat = match &by {
            SubmissionSource::Client(seat) if begins_task(&submission.op) => Some(seat.clone()),
            SubmissionSource::Client(_) | SubmissionSource::Holder | SubmissionSource::Program => {
                None
            }
        };
        if let (Some(_), Some(open)) = (&seat, &self.open) {
            let (store, session) = (open.conversation.store(), open.id());
            self.known.learn(&*store, session).await?;
        }
        if !self.known.note(by, id) {
            let message = format!(
                "submission {id} is known: it was taken before and is not done again; send what \
                 is to be done again under another id"
            );
            self.emitter.emit(id, vec![EventMsg::Warning { message }])?;
            return Ok(Flow::Continue(()));
        }
        if let (Some(seat), Some(_)) = (seat, &self.open) {
            let submitted = SubmittedTask {
                id: id.clone(),
                client: seat.client,
                secret_digest: seat.secret_digest,
            };
            self.emitter
                .record(&[RolloutRecord::Submitted(submitted)])?;
        }
        Box::pin(self.submission(submission)).await
    }

    pub(super) async fn submission(&mut self, submission: Submission) -> Result<Flow, StoreError> {
        if self.is_stopping() || self.waits_for_pictures(&submission.op) {
            return self.defer(submission);
        }
        let Some(Submission { id, op }) = self.decode_pictures(submission) else {
            return Ok(Flow::Continue(()));
        };
        match op {
            Op::Interrupt
                if self.stop_decoding(AbortReason::Interrupted).await? && !self.has_task() => {}
            Op::ConfigureSession(request) => self.configure(id, request).await?,
            Op::Shutdown => return Ok(self.shutdown(id).await),
            op => match &self.open {
                Some(_) => self.operate(id, op).await?,
                None => self.refuse(
                    &id,
                    ErrorInfo::InvalidSubmission,
                    "the session is not configured; send configure_session first",
                )?,
            },
        }
        Ok(Flow::Continue(()))
    }

    fn has_task(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.task.is_some())
    }

    fn defer(&mut self, submission: Submission) -> Result<Flow, StoreError> {
        if self.deferred.len() < DEFERRED_MAX {
            self.deferred
                .push_back(DeferredInput::Submission(Box::new(submission)));
        } else {
            self.refuse(
                &submission.id,
                ErrorInfo::InvalidSubmission,
                "too many submissions while a task is being stopped, or a picture is being read; \
                 wait for turn_aborted, or for the turn that has the picture",
            )?;
        }
        Ok(Flow::Continue(()))
    }

    async fn operate(&mut self, id: SubmissionId, op: Op) -> Result<(), StoreError> {
        let out = &mut self.emitter;
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let conversation = &mut open.conversation;
        match op {
            Op::UserInput {
                items,
                final_output_json_schema,
                last_response_id,
            } => {
                let task = NewTask {
                    items,
                    overrides: TurnOverrides::default(),
                    output_schema: final_output_json_schema,
                    from: last_response_id,
                    client_id: None,
                    asker: TaskRequester::Client,
                };
                self.user_turn(id, task).await
            }
            Op::UserTurn {
                items,
                overrides,
                final_output_json_schema,
                last_response_id,
                client_id,
            } => {
                let task = NewTask {
                    items,
                    overrides,
                    output_schema: final_output_json_schema,
                    from: last_response_id,
                    client_id,
                    asker: TaskRequester::Client,
                };
                self.user_turn(id, task).await
            }
            Op::Steer { items, client_id } => open.steer(out, id, items, client_id).await,
            Op::InjectItems { items } => open.inject(out, &id, items).await,
            Op::Interrupt => open.interrupt(out, &id).await,
            Op::OverrideTurnContext { overrides } => open.override_context(out, &id, overrides),
            Op::ExecApproval { id: call, decision } => {
                let word = InquiryAnswer::ExecDecision(decision);
                open.decide(out, &id, CallId(call), word).await
            }
            Op::PatchApproval { id: call, decision } => {
                let word = InquiryAnswer::PatchDecision(decision);
                open.decide(out, &id, CallId(call), word).await
            }
            Op::UserInputAnswer { id: call, response } => {
                let word = InquiryAnswer::Input(Some(response));
                open.decide(out, &id, CallId(call), word).await
            }
            Op::ListModels { refresh } => conversation.list_models(out, id, refresh),
            Op::ResolveElicitation {
                server_name,
                request_id,
                decision,
                content,
            } => {
                let response = ElicitationResponse { decision, content };
                let word = InquiryAnswer::Elicitation {
                    server_name,
                    response,
                };
                let call = CallId(request_id);
                open.decide(out, &id, call, word).await
            }
            Op::ListMcpTools => conversation.list_mcp_tools(out, id),
            Op::RefreshMcpServers => conversation.refresh_mcp_servers(out, &id),
            Op::Compact => open.compact(out, id).await,
            Op::ThreadRollback { num_turns } => open.roll_back(out, &id, num_turns).await,
            Op::Undo(request) => open.undo(out, &id, request).await,
            Op::SetThreadName { name } => conversation.set_name(out, &id, &name),
            Op::SetThreadNote { note } => conversation.set_note(out, &id, &note),
            Op::Review { review_request } => match open.host().review(&id, review_request).await {
                Ok(()) => Ok(()),
                Err(message) => self.refuse(&id, ErrorInfo::InvalidSubmission, &message),
            },
            Op::RunUserShellCommand { command } => open.run_user_shell(out, id, command).await,
            Op::ListSkills { cwds, force_reload } => {
                let freshness = CatalogueFreshness::on_request(force_reload);
                let cwds = if cwds.is_empty() {
                    vec![open.turn_context().cwd.clone()]
                } else {
                    cwds
                };
                let conversation = &mut open.conversation;
                conversation.list_skills(out, id, cwds, freshness)
            }
            op => self.unsupported(&id, &op),
        }
    }

    /// Starts a task, after stopping the one that runs. What is wrong with the new input is
    /// found before anything is aborted.
    async fn user_turn(&mut self, id: SubmissionId, task: NewTask) -> Result<(), StoreError> {
        let out = &mut self.emitter;
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let conversation = &mut open.conversation;
        let is_idle = open.task.is_none();
        let prepared = match conversation.prepare(&task, is_idle).await? {
            Ok(prepared) => prepared,
            Err(refusal) => {
                conversation.pictures = Arc::default();
                return out.error(&id, refusal);
            }
        };
        if !is_idle {
            open.stop(out, StopCause::quietly(AbortReason::Replaced))
                .await?;
            let op = task.into_op();
            self.deferred
                .push_front(DeferredInput::Submission(Box::new(Submission { id, op })));
            return Ok(());
        }
        if let ResumePoint::Elsewhere(point) = &prepared.from {
            let left = conversation.id();
            let request = conversation.fork_request(point.clone());
            self.configure(id.clone(), request).await?;
            // What kept the fork from being opened has been told.
            if self.open.as_ref().is_some_and(|open| open.id() == left) {
                return Ok(());
            }
        }
        match &mut self.open {
            Some(open) => open.begin(&mut self.emitter, id, task, prepared).await,
            None => Ok(()),
        }
    }

    async fn configure(
        &mut self,
        id: SubmissionId,
        request: ConfigureSession,
    ) -> Result<(), StoreError> {
        let setup = match self.deps.configurator.configure(&request).await {
            Ok(setup) => setup,
            Err(error) => {
                return self.refuse(&id, error.info, &error.message);
            }
        };
        // A session that goes on has settings of its own, which are not read yet.
        if request.resume.is_none()
            && let Err(refusal) = check_model(&setup.context, &request.overrides)
        {
            return self.emitter.error(&id, refusal);
        }
        if let Some(open) = &mut self.open
            && open.task.is_some()
        {
            open.stop(&mut self.emitter, StopCause::quietly(AbortReason::Replaced))
                .await?;
            self.deferred.push_front(DeferredInput::Reconfigure {
                id,
                request: Box::new(request),
                setup: Box::new(setup),
            });
            return Ok(());
        }
        self.reconfigure(id, request, setup).await
    }

    pub(super) async fn reconfigure(
        &mut self,
        id: SubmissionId,
        request: ConfigureSession,
        setup: SessionSetup,
    ) -> Result<(), StoreError> {
        let elsewhere = request.resume.is_some() || request.fork.is_some();
        if let Some(open) = &mut self.open
            && !elsewhere
        {
            return open
                .conversation
                .reconfigure(&mut self.emitter, &id, request, setup)
                .await;
        }
        if let Some(open) = &mut self.open {
            // Their ends belong in the log that is about to be left.
            open.conversation.end_shells(&mut self.emitter)?;
        }
        let opened = Conversation::open(
            &mut self.emitter,
            &self.deps,
            self.mailbox.clone(),
            &id,
            request,
            setup,
        )
        .await;
        match opened {
            Ok(conversation) => {
                let conversation = match self.open.take() {
                    Some(OpenSession {
                        conversation: old, ..
                    }) => {
                        old.tools.shutdown().await;
                        conversation.after(&old)
                    }
                    None => conversation,
                };
                self.open = Some(OpenSession {
                    conversation,
                    task: None,
                });
                Ok(())
            }
            Err(error) => self.refuse(&id, error_info(&error), &error_chain(&error)),
        }
    }

    fn unsupported(&mut self, id: &SubmissionId, op: &Op) -> Result<(), StoreError> {
        let name = serde_json::to_value(op)
            .ok()
            .and_then(|value| Some(value.get("type")?.as_str()?.to_owned()))
            .unwrap_or_default();
        self.refuse(
            id,
            ErrorInfo::Unsupported,
            &format!("this engine does not offer {name} yet"),
        )
    }
}

fn error_info(error: &StoreError) -> ErrorInfo {
    match error {
        StoreError::NotFound { .. }
        | StoreError::NoBookmark { .. }
        | StoreError::NoTurn { .. }
        | StoreError::BookmarkElsewhere { .. }
        | StoreError::SameName { .. }
        | StoreError::Ambiguous { .. } => ErrorInfo::NotFound,
        _ => ErrorInfo::StorageFailed,
    }
}
