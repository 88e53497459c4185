//! Pictures of a message are decoded before it is looked at, beside the loop: a large one takes
//! seconds, in which the session goes on with its task and hears an interrupt. What could change
//! the conversation waits behind it, so that messages keep their order.

use tokio_util::task::AbortOnDropHandle;
use troupe_protocol::SubmissionId;
use troupe_protocol::discard;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, ErrorEvent};
use troupe_protocol::op::{Op, Submission};
use troupe_store::Error;

use super::{Actor, Deferred, Flow, Input};
use crate::host::{Order, Stopper};
use crate::limits::DEFERRED_MAX;
use crate::user_input::{DecodedPictures, PictureSource};

/// A message with pictures, by the way that it came.
#[derive(Debug)]
pub(crate) enum Pictured {
    Submission(Submission),
    /// A message of another agent's.
    Order(Order),
}

/// A message whose pictures are being decoded.
#[derive(Debug)]
pub(super) struct Decoding {
    message: Undecoded,
    /// Dropping it stops the waiting; a decoder that runs comes to its end.
    _work: AbortOnDropHandle<()>,
}

/// What an end of the waiting is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Undecoded {
    Submission(SubmissionId),
    /// The tree takes this task for begun.
    Start(SubmissionId),
    /// It stays in the inbox until a task takes it.
    Mail,
}

impl Pictured {
    fn undecoded(&self) -> Undecoded {
        match self {
            Self::Submission(submission) => Undecoded::Submission(submission.id.clone()),
            Self::Order(Order::Start { task, .. }) => Undecoded::Start(task.clone()),
            Self::Order(_) => Undecoded::Mail,
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

impl Actor {
    /// Begins to decode the pictures of a submission. Returns it if there are none to decode.
    pub(super) fn decode_pictures(&mut self, submission: Submission) -> Option<Submission> {
        let conversation = self.conversation.as_ref();
        let sources = conversation.map(|it| it.undecoded_pictures(&submission.op));
        let sources = sources.unwrap_or_default();
        if sources.is_empty() {
            return Some(submission);
        }
        self.decode(Pictured::Submission(submission), sources);
        None
    }

    /// Begins to decode the pictures that an order of the tree brings, or has it wait for those
    /// before it. Returns the order if it can be carried out now.
    pub(super) fn decode_mail(&mut self, order: Order) -> Option<Order> {
        if !matches!(order, Order::Start { .. } | Order::Mail(_)) {
            return Some(order);
        }
        if self.decoding.is_some() {
            if self.deferred.len() >= DEFERRED_MAX {
                // Nothing that the tree says is lost, also if the loop has to wait for it.
                return Some(order);
            }
            self.deferred.push_back(Deferred::Order(Box::new(order)));
            return None;
        }
        let conversation = self.conversation.as_ref();
        let sources = conversation.map(|it| it.undecoded_mail(&order));
        let sources = sources.unwrap_or_default();
        if sources.is_empty() {
            return Some(order);
        }
        self.decode(Pictured::Order(order), sources);
        None
    }

    fn decode(&mut self, message: Pictured, sources: Vec<PictureSource>) {
        let mailbox = self.mailbox.clone();
        let undecoded = message.undecoded();
        let work = tokio::spawn(async move {
            let decoded = DecodedPictures::decode(sources).await;
            let input = Input::PicturesDecoded {
                message: Box::new(message),
                pictures: Box::new(decoded),
            };
            // A session that is gone takes no message.
            discard!(mailbox.post(input).await, "the actor has ended");
        });
        self.decoding = Some(Decoding {
            message: undecoded,
            _work: AbortOnDropHandle::new(work),
        });
    }

    /// Goes on with a message whose pictures are decoded. One that was interrupted meanwhile has
    /// been answered.
    pub(super) async fn pictures_decoded(
        &mut self,
        message: Pictured,
        pictures: DecodedPictures,
    ) -> Result<Flow, Error> {
        let undecoded = message.undecoded();
        let waiting = self
            .decoding
            .take_if(|decoding| decoding.message == undecoded);
        if waiting.is_none() {
            return Ok(Flow::Continue(()));
        }
        if let Some(conversation) = &mut self.conversation {
            conversation.pictures = pictures.into();
        }
        match message {
            Pictured::Submission(submission) => Box::pin(self.submission(submission)).await,
            Pictured::Order(order) => Box::pin(self.carry_out(order)).await,
        }
    }

    /// Gives up the message whose pictures are being decoded, and tells whoever waits for it.
    /// Returns whether there was one.
    pub(super) async fn stop_decoding(&mut self, reason: AbortReason) -> Result<bool, Error> {
        let Some(decoding) = self.decoding.take() else {
            return Ok(false);
        };
        match decoding.message {
            Undecoded::Submission(id) => {
                let error = ErrorEvent {
                    message: "interrupted before its pictures were read; nothing was begun"
                        .to_owned(),
                    fatal: false,
                    error_info: Some(ErrorInfo::Interrupted),
                };
                self.emitter.error(&id, error)?;
            }
            Undecoded::Start(task) => {
                if let Some(conversation) = &mut self.conversation {
                    let (out, by) = (&mut self.emitter, Stopper::default());
                    conversation.abort(out, &task, reason, by).await?;
                }
            }
            Undecoded::Mail => {}
        }
        Ok(true)
    }

    /// Forgets a task that has not begun, because its pictures or those before it are still being
    /// decoded.
    pub(super) fn forget_undecoded(&mut self, task: &SubmissionId) {
        let is_it = |decoding: &mut Decoding| decoding.message == Undecoded::Start(task.clone());
        drop(self.decoding.take_if(is_it));
        self.deferred.retain(|deferred| match deferred {
            Deferred::Order(order) => order.task() != *task,
            Deferred::Submission(_) | Deferred::Reconfigure { .. } => true,
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
