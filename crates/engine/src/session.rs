//! The session actor: one loop, one owner of all state.
//!
//! Everything that can happen is an [`Input`]. The loop takes one, changes the state, and
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
use troupe_protocol::{CallId, SubmissionId};
use troupe_store::Error;

use crate::calls::{CallSignal, Caller};
use crate::conversation::{Conversation, SourceNews};
use crate::deps::{Deps, Setup};
use crate::emit::Emitter;
use crate::events::{EventStream, Publisher};
use crate::host::Order;
use crate::mailbox::{Inputs, Mailbox, mailbox};
use crate::user_input::DecodedPictures;
use decoding::{Decoding, Pictured};
pub use known_ids::ClientSeat;
use known_ids::{KnownIds, Submitter};
use leaving::Below;

/// Opens a queue pair. Its first submission must be `configure_session`.
///
/// Dropping every clone of the handle ends the session as `shutdown` would.
pub fn spawn(deps: Deps) -> (SessionHandle, EventStream) {
    let (mailbox, inputs) = mailbox();
    let (publisher, events) = Publisher::new();
    let owner = CancellationToken::new();
    let actor = Actor {
        deps,
        mailbox: mailbox.clone(),
        inputs,
        owner: owner.clone(),
        emitter: Emitter::new(publisher.clone()),
        conversation: None,
        deferred: VecDeque::new(),
        decoding: None,
        known: KnownIds::default(),
        audience: Audience::Present,
        below: Below::Running,
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
async fn supervise(running: JoinHandle<()>, publisher: Publisher) {
    if let Err(panicked) = running.await {
        tracing::error!(%panicked, "a session ended by a defect");
        let mut emitter = Emitter::after_panic(publisher.clone());
        emitter.tell_unrecorded(
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
pub struct Closed;

impl SessionHandle {
    /// Hands a submission to the session; waits while its mailbox is full.
    pub async fn submit(&self, submission: Submission) -> Result<(), Closed> {
        self.post(Submitter::Holder, submission).await
    }

    /// As [`Self::submit`], for one of several clients that share the session: each gives its
    /// submissions ids of its own.
    pub async fn submit_as(&self, seat: ClientSeat, submission: Submission) -> Result<(), Closed> {
        self.post(Submitter::Client(seat), submission).await
    }

    /// Configures the session, or ends it, in nobody's name: what it says about that has no id.
    pub async fn operate(&self, op: Op) -> Result<(), Closed> {
        let id = SubmissionId::default();
        self.post(Submitter::Program, Submission { id, op }).await
    }

    async fn post(&self, by: Submitter, submission: Submission) -> Result<(), Closed> {
        let submission = Box::new(submission);
        self.mailbox
            .post(Input::Submission { by, submission })
            .await
    }

    /// Has the session answer something that never became a submission.
    pub async fn refuse(&self, id: SubmissionId, error: ErrorEvent) -> Result<(), Closed> {
        let error = Box::new(error);
        self.mailbox.post(Input::Refused { id, error }).await
    }

    /// Ends the input: no submission follows. The session does what it was asked,
    /// refuses what it would have to ask, and ends.
    pub async fn finish(&self) -> Result<(), Closed> {
        self.mailbox.post(Input::LastWord).await
    }
}

/// Everything that can happen to a session. What is large is boxed: a mailbox has room for
/// some inputs also while it is empty.
#[derive(Debug)]
pub(crate) enum Input {
    Submission {
        by: Submitter,
        submission: Box<Submission>,
    },
    /// A submission that could not be read.
    Refused {
        id: SubmissionId,
        error: Box<ErrorEvent>,
    },
    /// The pictures of a message are there.
    PicturesDecoded {
        message: Box<Pictured>,
        pictures: Box<DecodedPictures>,
    },
    /// No submission comes any more.
    LastWord,
    /// What the tree asks for.
    Order(Box<Order>),
    /// A piece of the model's answer.
    Model(Vec<ModelEvent>),
    Call {
        caller: Caller,
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
    Source(Box<SourceNews>),
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
struct Actor {
    deps: Deps,
    mailbox: Mailbox,
    inputs: Inputs,
    owner: CancellationToken,
    emitter: Emitter,
    conversation: Option<Conversation>,
    /// What waits for the running task to stop.
    deferred: VecDeque<Deferred>,
    decoding: Option<Decoding>,
    known: KnownIds,
    audience: Audience,
    below: Below,
}

/// Whether anybody is there to submit and to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    Present,
    /// The session ends when it has nothing more to do.
    Gone,
}

#[derive(Debug)]
enum Deferred {
    Submission(Box<Submission>),
    /// Waits for the pictures of the message before it.
    Order(Box<Order>),
    Reconfigure {
        id: SubmissionId,
        request: Box<ConfigureSession>,
        setup: Box<Setup>,
    },
}

type Flow = ControlFlow<()>;

impl Actor {
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
    async fn next_input(&mut self) -> Input {
        let Self {
            inputs,
            owner,
            conversation,
            ..
        } = self;
        let task = conversation.as_mut().and_then(|c| c.task.as_mut());
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
            () = owner.cancelled() => Input::Abandoned,
            // Before what tools say: one that neither stops nor falls silent is dropped too.
            () = stop_deadline => Input::StopDeadline,
            Some(input) = inputs.next() => input,
            batch = next_batch => Input::Model(batch),
        }
    }

    async fn step(&mut self, input: Input) -> Flow {
        let asked = match &input {
            Input::Submission { submission, .. } => submission.id.clone(),
            Input::PicturesDecoded { message, .. } => message.id(),
            Input::Refused { id, .. }
            | Input::ModelsListed { id, .. }
            | Input::SkillsListed { id, .. } => id.clone(),
            Input::Order(order) => order.task(),
            Input::LastWord
            | Input::Source(_)
            | Input::TreeQuiet
            | Input::TreeClosed
            | Input::Model(_)
            | Input::Call { .. }
            | Input::StopDeadline
            | Input::Abandoned => SubmissionId::default(),
        };
        let task = self.conversation.as_ref().and_then(|c| c.task.as_ref());
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

    async fn handle(&mut self, input: Input) -> Result<Flow, Error> {
        match input {
            // Boxed, because an idle session has the size of the largest thing it could do.
            Input::Submission { by, submission } => {
                return Box::pin(self.receive(by, *submission)).await;
            }
            Input::PicturesDecoded { message, pictures } => {
                return Box::pin(self.pictures_decoded(*message, *pictures)).await;
            }
            Input::Abandoned => return Ok(Box::pin(self.abandoned()).await),
            Input::Order(order) => return Box::pin(self.order(*order)).await,
            Input::TreeQuiet => self.below = Below::Quiet,
            Input::TreeClosed => self.below = Below::Closed,
            Input::Refused { id, error } => self.emitter.error(&id, *error)?,
            Input::SkillsListed { id, entries } => {
                if let Some(conversation) = &mut self.conversation {
                    conversation.skills_listed(&mut self.emitter, &id, entries)?;
                }
            }
            Input::LastWord => {
                self.audience = Audience::Gone;
                if let Some(conversation) = &mut self.conversation {
                    Box::pin(conversation.refuse_questions(&mut self.emitter)).await?;
                }
            }
            Input::ModelsListed { id, answer } => {
                if let Some(conversation) = &mut self.conversation {
                    conversation.models_listed(&mut self.emitter, &id, *answer)?;
                }
            }
            Input::Model(batch) => {
                if let Some(conversation) = &mut self.conversation {
                    conversation.model(&mut self.emitter, batch).await?;
                }
            }
            Input::Call {
                caller,
                call_id,
                signal,
            } => {
                if let Some(conversation) = &mut self.conversation {
                    conversation
                        .signal(&mut self.emitter, caller, call_id, *signal)
                        .await?;
                }
            }
            Input::Source(news) => {
                if let Some(conversation) = &mut self.conversation {
                    Box::pin(conversation.source_news(&mut self.emitter, *news)).await?;
                }
            }
            Input::StopDeadline => {
                if let Some(conversation) = &mut self.conversation {
                    Box::pin(conversation.finish_stop(&mut self.emitter)).await?;
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
                Deferred::Submission(submission) => submission.id.clone(),
                Deferred::Order(order) => order.task(),
                Deferred::Reconfigure { id, .. } => id.clone(),
            };
            let done = match deferred {
                Deferred::Submission(submission) => Box::pin(self.submission(*submission)).await,
                Deferred::Order(order) => Box::pin(self.order(*order)).await,
                Deferred::Reconfigure { id, request, setup } => {
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
        if self.below == Below::Closing {
            return true;
        }
        let task = self.conversation.as_ref().and_then(|c| c.task.as_ref());
        task.is_some_and(crate::task::Task::is_stopping)
    }

    fn refuse(&mut self, id: &SubmissionId, info: ErrorInfo, message: &str) -> Result<(), Error> {
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
    async fn storage_failed(&mut self, asked: &SubmissionId, error: &Error) {
        tracing::error!(%error, "the conversation cannot be kept");
        let error = |fatal| ErrorEvent {
            message: describe(error),
            fatal,
            error_info: Some(ErrorInfo::StorageFailed),
        };
        let given_up = match &mut self.conversation {
            Some(conversation) => conversation.give_up(asked, &error(true)).await,
            None => None,
        };
        let Some((mut task, mut msgs)) = given_up else {
            let told = vec![EventMsg::Error(error(false))];
            return self.emitter.tell_unrecorded(asked, told);
        };
        for (steer, undelivered) in task.take_undelivered() {
            self.emitter
                .tell_unrecorded(&steer, vec![EventMsg::Error(undelivered)]);
        }
        msgs.push(EventMsg::Error(error(true)));
        msgs.push(EventMsg::TurnAborted(task.aborted(AbortReason::Error)));
        self.emitter.tell_unrecorded(&task.id, msgs);
    }
}

/// Returns an error with its causes, in one line.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests;
