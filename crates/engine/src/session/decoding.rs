//! Pictures of a message are decoded before it is looked at, beside the loop: a large one takes
//! seconds, in which the session goes on with its task and hears an interrupt. What could change
//! the conversation waits behind it, so that messages keep their order.

use tokio_util::task::AbortOnDropHandle;
use troupe_protocol::SubmissionId;
use troupe_protocol::discard;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, ErrorEvent};
use troupe_protocol::op::{Op, Submission};
use troupe_store::StoreError;

use super::{DeferredInput, Flow, SessionActor, SessionInput};
use crate::host::{SessionOrder, StopRequester};
use crate::limits::DEFERRED_MAX;
use crate::user_input::{DecodedPictures, PictureSource};

/// A message with pictures, by the way that it came.
#[derive(Debug)]
pub(crate) enum PictureMessage {
    Submission(Submission),
    /// A message of another agent's.
    Order(SessionOrder),
}

/// A message whose pictures are being decoded.
#[derive(Debug)]
pub(super) struct PictureDecoding {
    message: UndecodedMessage,
    /// Dropping it stops the waiting; a decoder that runs comes to its end.
    _work: AbortOnDropHandle<()>,
}

/// What an end of the waiting is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
enum UndecodedMessage {
    Submission(SubmissionId),
    /// The tree takes this task for begun.
    Start(SubmissionId),
    /// It stays in the inbox until a task takes it.
    Mail,
}

impl PictureMessage {
    fn undecoded(&self) -> UndecodedMessage {
        match self {
            Self::Submission(submission) => UndecodedMessage::Submission(submission.id.clone()),
            Self::Order(SessionOrder::Start { task, .. }) => UndecodedMessage::Start(task.clone()),
            Self::Order(_) => UndecodedMessage::Mail,
        }
    }

    /// Returns the submission or the task that it is about; the id of none if it is mail.
    pub(super) fn id(&self) -> SubmissionId {
        match self {
            Self::Submission(submission) => submission.id.clone(),
            Self::Order(order) => order.task(),
        }
    }
}

impl SessionActor {
    /// Begins to decode the pictures of a submission. Returns it if there are none to decode.
    pub(super) fn decode_pictures(&mut self, submission: Submission) -> Option<Submission> {
        let open = self.open.as_ref();
        let sources = open.map(|it| it.undecoded_pictures(&submission.op));
        let sources = sources.unwrap_or_default();
        if sources.is_empty() {
            return Some(submission);
        }
        self.decode(PictureMessage::Submission(submission), sources);
        None
    }

    /// Begins to decode the pictures that an order of the tree brings, or has it wait for those
    /// before it. Returns the order if it can be carried out now.
    pub(super) fn decode_mail(&mut self, order: SessionOrder) -> Option<SessionOrder> {
        if !matches!(order, SessionOrder::Start { .. } | SessionOrder::Mail(_)) {
            return Some(order);
        }
        if self.decoding.is_some() {
            if self.deferred.len() >= DEFERRED_MAX {
                // Nothing that the tree says is lost, also if the loop has to wait for it.
                return Some(order);
            }
            self.deferred
                .push_back(DeferredInput::Order(Box::new(order)));
            return None;
        }
        let open = self.open.as_ref();
        let sources = open.map(|it| it.undecoded_mail(&order));
        let sources = sources.unwrap_or_default();
        if sources.is_empty() {
            return Some(order);
        }
        self.decode(PictureMessage::Order(order), sources);
        None
    }

    fn decode(&mut self, message: PictureMessage, sources: Vec<PictureSource>) {
        let mailbox = self.mailbox.clone();
        let undecoded = message.undecoded();
        let work = tokio::spawn(async move {
            let decoded = DecodedPictures::decode(sources).await;
            let input = SessionInput::PicturesDecoded {
                message: Box::new(message),
                pictures: Box::new(decoded),
            };
            // A session that is gone takes no message.
            discard!(mailbox.post(input).await, "the actor has ended");
        });
        self.decoding = Some(PictureDecoding {
            message: undecoded,
            _work: AbortOnDropHandle::new(work),
        });
    }

    /// Goes on with a message whose pictures are decoded. One that was interrupted meanwhile has
    /// been answered.
    pub(super) async fn pictures_decoded(
        &mut self,
        message: PictureMessage,
        pictures: DecodedPictures,
    ) -> Result<Flow, StoreError> {
        let undecoded = message.undecoded();
        let waiting = self
            .decoding
            .take_if(|decoding| decoding.message == undecoded);
        if waiting.is_none() {
            return Ok(Flow::Continue(()));
        }
        if let Some(open) = &mut self.open {
            open.conversation.pictures = pictures.into();
        }
        match message {
            PictureMessage::Submission(submission) => Box::pin(self.submission(submission)).await,
            PictureMessage::Order(order) => Box::pin(self.carry_out(order)).await,
        }
    }

    /// Gives up the message whose pictures are being decoded, and tells whoever waits for it.
    /// Returns whether there was one.
    pub(super) async fn stop_decoding(&mut self, reason: AbortReason) -> Result<bool, StoreError> {
        let Some(decoding) = self.decoding.take() else {
            return Ok(false);
        };
        match decoding.message {
            UndecodedMessage::Submission(id) => {
                let error = ErrorEvent {
                    message: "interrupted before its pictures were read; nothing was begun"
                        .to_owned(),
                    fatal: false,
                    error_info: Some(ErrorInfo::Interrupted),
                };
                self.emitter.error(&id, error)?;
            }
            UndecodedMessage::Start(task) => {
                if let Some(open) = &mut self.open {
                    let (out, by) = (&mut self.emitter, StopRequester::default());
                    open.abort(out, &task, reason, by).await?;
                }
            }
            UndecodedMessage::Mail => {}
        }
        Ok(true)
    }

    /// Forgets a task that has not begun, because its pictures or those before it are still being
    /// decoded.
    pub(super) fn forget_undecoded(&mut self, task: &SubmissionId) {
        let is_it = |decoding: &mut PictureDecoding| {
            decoding.message == UndecodedMessage::Start(task.clone())
        };
        drop(self.decoding.take_if(is_it));
        self.deferred.retain(|deferred| match deferred {
            DeferredInput::Order(order) => order.task() != *task,
            DeferredInput::Submission(_) | DeferredInput::Reconfigure { .. } => true,
        });
    }

    /// Tells whether an op has to wait for the message before it.
    pub(super) fn waits_for_pictures(&self, op: &Op) -> bool {
        let is_beside = matches!(
            op,
            Op::Interrupt
                | Op::Shutdown
                | Op::ExecApproval { .. }
                | Op::PatchApproval { .. }
                | Op::UserInputAnswer { .. }
                | Op::ResolveElicitation { .. }
                | Op::SetThreadName { .. }
                | Op::SetThreadNote { .. }
                | Op::ListModels { .. }
                | Op::ListMcpTools
                | Op::RefreshMcpServers
                | Op::ListSkills { .. }
        );
        self.decoding.is_some() && !is_beside
    }
}
