//! The session actor: one loop, one owner of all state.
//!
//! Everything that can happen is an [`SessionInput`]. The loop takes one, changes the state, and
//! only then tells readers. Nothing else writes the state of a session.

mod decoding;
pub(crate) mod known_ids;
mod leaving;
mod orders;
mod submissions;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::{Instrument as _, Span};
use troupe_model::{ModelError, ModelEvent};
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, ErrorEvent, EventMsg, SkillsEntry};
use troupe_protocol::op::{ConfigureSession, Op, Submission};
use troupe_protocol::text::error_chain;
use troupe_protocol::{CallId, SubmissionId};
use troupe_store::StoreError;

use crate::calls::{CallOrigin, CallSignal};
use crate::conversation::{OpenSession, ToolSourceUpdate};
use crate::deps::{SessionDeps, SessionSetup};
use crate::emit::Emitter;
use crate::events::{EventPublisher, EventStream};
use crate::host::SessionOrder;
use crate::mailbox::{InputReceiver, Mailbox, mailbox};
use crate::user_input::DecodedPictures;
use decoding::{PictureDecoding, PictureMessage};
pub use known_ids::ClientSeat;
use known_ids::{KnownIds, SubmissionSource};
use leaving::SubtreeState;

/// Opens a queue pair. Its first submission must be `configure_session`.
///
/// Dropping every clone of the handle ends the session as `shutdown` would.
pub fn spawn(deps: SessionDeps) -> (SessionHandle, EventStream) {
    let (mailbox, inputs) = mailbox();
    let (publisher, events) = EventPublisher::new();
    let owner = CancellationToken::new();
    let actor = SessionActor {
        deps,
        mailbox: mailbox.clone(),
        inputs,
        owner: owner.clone(),
        emitter: Emitter::new(publisher.clone()),
        open: None,
        deferred: VecDeque::new(),
        decoding: None,
        known: KnownIds::default(),
        audience: ClientPresence::Present,
        below: SubtreeState::Running,
    };
    // Its id is known once it is configured.
    let span = tracing::info_span!("session", id = tracing::field::Empty);
    let running = tokio::spawn(actor.run().instrument(span));
    tokio::spawn(supervise(running, publisher));
    let handle = SessionHandle {
        mailbox,
        _owner: Arc::new(owner.drop_guard()),
    };
    (handle, events)
}

/// Waits for the actor's end. A panic is this session's trouble alone: it is told, and the
/// stream ends.
async fn supervise(running: JoinHandle<()>, publisher: EventPublisher) {
    if let Err(panicked) = running.await {
        tracing::error!(%panicked, "a session ended by a defect");
        let mut emitter = Emitter::after_panic(publisher.clone());
        emitter.publish_unrecorded(
            &SubmissionId::default(),
            vec![EventMsg::Error(ErrorEvent {
                message: format!(
                    "the session ended by a defect of the engine ({panicked}); resume it to go on"
                ),
                fatal: true,
                error_info: Some(ErrorInfo::Other),
            })],
        );
        emitter.flush();
    }
    publisher.close();
}

/// The submitting end of a queue pair.
#[derive(Debug, Clone)]
pub struct SessionHandle {
    mailbox: Mailbox,
    _owner: Arc<DropGuard>,
}

/// The session has ended and takes nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session has ended")]
pub struct SessionClosed;

impl SessionHandle {
    /// Hands a submission to the session; waits while its mailbox is full.
    pub async fn submit(&self, submission: Submission) -> Result<(), SessionClosed> {
        self.post(SubmissionSource::Holder, submission).await
    }

    /// As [`Self::submit`], for one of several clients that share the session: each gives its
    /// submissions ids of its own.
    pub async fn submit_as(
        &self,
        seat: ClientSeat,
        submission: Submission,
    ) -> Result<(), SessionClosed> {
        self.post(SubmissionSource::Client(seat), submission).await
    }

    /// Configures the session, or ends it, in nobody's name: what it says about that has no id.
    pub async fn operate(&self, op: Op) -> Result<(), SessionClosed> {
        let id = SubmissionId::default();
        self.post(SubmissionSource::Program, Submission { id, op })
            .await
    }

    async fn post(
        &self,
        by: SubmissionSource,
        submission: Submission,
    ) -> Result<(), SessionClosed> {
        let submission = Box::new(submission);
        self.mailbox
            .post(SessionInput::Submission { by, submission })
            .await
    }

    /// Has the session answer something that never became a submission.
    pub async fn refuse(&self, id: SubmissionId, error: ErrorEvent) -> Result<(), SessionClosed> {
        let error = Box::new(error);
        self.mailbox.post(SessionInput::Refused { id, error }).await
    }

    /// Ends the input: no submission follows. The session does what it was asked,
    /// refuses what it would have to ask, and ends.
    pub async fn finish(&self) -> Result<(), SessionClosed> {
        self.mailbox.post(SessionInput::LastWord).await
    }
}

/// Everything that can happen to a session. What is large is boxed: a mailbox has room for
/// some inputs also while it is empty.
#[derive(Debug)]
pub(crate) enum SessionInput {
    Submission {
        by: SubmissionSource,
        submission: Box<Submission>,
    },
    /// A submission that could not be read.
    Refused {
        id: SubmissionId,
        error: Box<ErrorEvent>,
    },
    /// The pictures of a message are there.
    PicturesDecoded {
        message: Box<PictureMessage>,
        pictures: Box<DecodedPictures>,
    },
    /// No submission comes any more.
    LastWord,
    /// What the tree asks for.
    Order(Box<SessionOrder>),
    /// A piece of the model's answer.
    Model(Vec<ModelEvent>),
    Call {
        caller: CallOrigin,
        call_id: CallId,
        signal: Box<CallSignal>,
    },
    /// The provider said which models it has, or why not.
    ModelsListed {
        id: SubmissionId,
        answer: Box<Result<Vec<ModelEntry>, ModelError>>,
    },
    /// A client asked for the list of skills.
    SkillsListed {
        id: SubmissionId,
        entries: Vec<SkillsEntry>,
    },
    /// What is known of tools that come from elsewhere.
    Source(Box<ToolSourceUpdate>),
    /// Nothing runs below this session any more.
    TreeQuiet,
    /// Everything below this session has ended.
    TreeClosed,
    /// Tools have had their time to clean up.
    StopDeadline,
    /// Every clone of the handle was dropped.
    Abandoned,
}

#[derive(Debug)]
struct SessionActor {
    deps: SessionDeps,
    mailbox: Mailbox,
    inputs: InputReceiver,
    owner: CancellationToken,
    emitter: Emitter,
    open: Option<OpenSession>,
    /// What waits for the running task to stop.
    deferred: VecDeque<DeferredInput>,
    decoding: Option<PictureDecoding>,
    known: KnownIds,
    audience: ClientPresence,
    below: SubtreeState,
}

/// Whether anybody is there to submit and to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientPresence {
    Present,
    /// The session ends when it has nothing more to do.
    Gone,
}

#[derive(Debug)]
enum DeferredInput {
    Submission(Box<Submission>),
    /// Waits for the pictures of the message before it.
    Order(Box<SessionOrder>),
    Reconfigure {
        id: SubmissionId,
        request: Box<ConfigureSession>,
        setup: Box<SessionSetup>,
    },
}

type Flow = ControlFlow<()>;

impl SessionActor {
    async fn run(mut self) {
        loop {
            let input = self.next_input().await;
            let flow = self.step(input).await;
            self.emitter.flush();
            if flow.is_break() {
                return;
            }
        }
    }

    /// Submissions come before the model's text, so that an interrupt is never kept waiting
    /// by a talkative model.
    async fn next_input(&mut self) -> SessionInput {
        let Self {
            inputs,
            owner,
            open,
            ..
        } = self;
        let task = open.as_mut().and_then(|open| open.task.as_mut());
        let deadline = task.as_ref().and_then(|task| task.stop_deadline());
        let next_batch = async {
            match task {
                Some(task) => task.next_batch().await,
                None => std::future::pending().await,
            }
        };
        let stop_deadline = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = owner.cancelled() => SessionInput::Abandoned,
            // Before what tools say: one that neither stops nor falls silent is dropped too.
            () = stop_deadline => SessionInput::StopDeadline,
            Some(input) = inputs.next() => input,
            batch = next_batch => SessionInput::Model(batch),
        }
    }

    async fn step(&mut self, input: SessionInput) -> Flow {
        let asked = match &input {
            SessionInput::Submission { submission, .. } => submission.id.clone(),
            SessionInput::PicturesDecoded { message, .. } => message.id(),
            SessionInput::Refused { id, .. }
            | SessionInput::ModelsListed { id, .. }
            | SessionInput::SkillsListed { id, .. } => id.clone(),
            SessionInput::Order(order) => order.task(),
            SessionInput::LastWord
            | SessionInput::Source(_)
            | SessionInput::TreeQuiet
            | SessionInput::TreeClosed
            | SessionInput::Model(_)
            | SessionInput::Call { .. }
            | SessionInput::StopDeadline
            | SessionInput::Abandoned => SubmissionId::default(),
        };
        let task = self.open.as_ref().and_then(|open| open.task.as_ref());
        let span = task.map_or_else(Span::none, |task| task.span.clone());
        match self.handle(input).instrument(span).await {
            Ok(Flow::Break(())) => return Flow::Break(()),
            Ok(Flow::Continue(())) => (),
            Err(error) => Box::pin(self.storage_failed(&asked, &error)).await,
        }
        match self.resume_deferred().await {
            Flow::Continue(()) => self.leave_if_done().await,
            flow @ Flow::Break(()) => flow,
        }
    }

    async fn handle(&mut self, input: SessionInput) -> Result<Flow, StoreError> {
        match input {
            // Boxed, because an idle session has the size of the largest thing it could do.
            SessionInput::Submission { by, submission } => {
                return Box::pin(self.receive(by, *submission)).await;
            }
            SessionInput::PicturesDecoded { message, pictures } => {
                return Box::pin(self.pictures_decoded(*message, *pictures)).await;
            }
            SessionInput::Abandoned => return Ok(Box::pin(self.abandoned()).await),
            SessionInput::Order(order) => return Box::pin(self.order(*order)).await,
            SessionInput::TreeQuiet => self.below = SubtreeState::Quiet,
            SessionInput::TreeClosed => self.below = SubtreeState::Closed,
            SessionInput::Refused { id, error } => self.emitter.error(&id, *error)?,
            SessionInput::SkillsListed { id, entries } => {
                if let Some(open) = &mut self.open {
                    open.conversation
                        .skills_listed(&mut self.emitter, &id, entries)?;
                }
            }
            SessionInput::LastWord => {
                self.audience = ClientPresence::Gone;
                if let Some(open) = &mut self.open {
                    Box::pin(open.refuse_questions(&mut self.emitter)).await?;
                }
            }
            SessionInput::ModelsListed { id, answer } => {
                if let Some(open) = &mut self.open {
                    open.conversation
                        .models_listed(&mut self.emitter, &id, *answer)?;
                }
            }
            SessionInput::Model(batch) => {
                if let Some(open) = &mut self.open {
                    open.model(&mut self.emitter, batch).await?;
                }
            }
            SessionInput::Call {
                caller,
                call_id,
                signal,
            } => {
                if let Some(open) = &mut self.open {
                    open.signal(&mut self.emitter, caller, call_id, *signal)
                        .await?;
                }
            }
            SessionInput::Source(news) => {
                if let Some(open) = &mut self.open {
                    Box::pin(open.source_news(&mut self.emitter, *news)).await?;
                }
            }
            SessionInput::StopDeadline => {
                if let Some(open) = &mut self.open {
                    Box::pin(open.finish_stop(&mut self.emitter)).await?;
                }
            }
        }
        Ok(Flow::Continue(()))
    }

    /// Takes up what waited for a task to stop.
    async fn resume_deferred(&mut self) -> Flow {
        while !self.is_stopping() && self.decoding.is_none() {
            let Some(deferred) = self.deferred.pop_front() else {
                break;
            };
            let asked = match &deferred {
                DeferredInput::Submission(submission) => submission.id.clone(),
                DeferredInput::Order(order) => order.task(),
                DeferredInput::Reconfigure { id, .. } => id.clone(),
            };
            let done = match deferred {
                DeferredInput::Submission(submission) => {
                    Box::pin(self.submission(*submission)).await
                }
                DeferredInput::Order(order) => Box::pin(self.order(*order)).await,
                DeferredInput::Reconfigure { id, request, setup } => {
                    let done = Box::pin(self.reconfigure(id, *request, *setup)).await;
                    done.map(|()| Flow::Continue(()))
                }
            };
            match done {
                Ok(Flow::Break(())) => return Flow::Break(()),
                Ok(Flow::Continue(())) => (),
                Err(error) => Box::pin(self.storage_failed(&asked, &error)).await,
            }
        }
        Flow::Continue(())
    }

    fn is_stopping(&self) -> bool {
        if self.below == SubtreeState::Closing {
            return true;
        }
        let task = self.open.as_ref().and_then(|open| open.task.as_ref());
        task.is_some_and(crate::task::Task::is_stopping)
    }

    fn refuse(
        &mut self,
        id: &SubmissionId,
        info: ErrorInfo,
        message: &str,
    ) -> Result<(), StoreError> {
        self.emitter.error(
            id,
            ErrorEvent {
                message: message.to_owned(),
                fatal: false,
                error_info: Some(info),
            },
        )
    }

    /// Tells that the conversation cannot be kept, and ends the task: going on would lose
    /// what it does. Without a task, whoever `asked` is told. The tree hears of it too, or it
    /// would wait for an end that nobody tells.
    async fn storage_failed(&mut self, asked: &SubmissionId, error: &StoreError) {
        tracing::error!(%error, "the conversation cannot be kept");
        let error = |fatal| ErrorEvent {
            message: error_chain(error),
            fatal,
            error_info: Some(ErrorInfo::StorageFailed),
        };
        let given_up = match &mut self.open {
            Some(open) => open.give_up(asked, &error(true)).await,
            None => None,
        };
        let Some((mut task, mut msgs)) = given_up else {
            let told = vec![EventMsg::Error(error(false))];
            return self.emitter.publish_unrecorded(asked, told);
        };
        for (steer, undelivered) in task.take_undelivered() {
            self.emitter
                .publish_unrecorded(&steer, vec![EventMsg::Error(undelivered)]);
        }
        msgs.push(EventMsg::Error(error(true)));
        msgs.push(EventMsg::TurnAborted(task.aborted(AbortReason::Error)));
        self.emitter.publish_unrecorded(&task.id, msgs);
    }
}

#[cfg(test)]
mod tests;
