//! Pictures of a submission are decoded before it is looked at, beside the loop: a large one takes
//! seconds, in which the session goes on with its task and hears an interrupt. What could change
//! the conversation waits behind it, so that submissions keep their order.

use tokio_util::task::AbortOnDropHandle;
use troupe_protocol::SubmissionId;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::ErrorEvent;
use troupe_protocol::op::{Op, Submission};
use troupe_store::Error;

use super::{Actor, Flow, Input};
use crate::user_input::DecodedPictures;

/// A submission whose pictures are being decoded.
#[derive(Debug)]
pub(super) struct Decoding {
    id: SubmissionId,
    /// Dropping it stops the waiting; a decoder that runs comes to its end.
    _work: AbortOnDropHandle<()>,
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
        let id = submission.id.clone();
        let mailbox = self.mailbox.clone();
        let work = tokio::spawn(async move {
            let decoded = DecodedPictures::decode(sources).await;
            let input = Input::PicturesDecoded {
                submission: Box::new(submission),
                pictures: Box::new(decoded),
            };
            // A session that is gone takes no message.
            mailbox.post(input).await.ok();
        });
        self.decoding = Some(Decoding {
            id,
            _work: AbortOnDropHandle::new(work),
        });
        None
    }

    /// Goes on with a submission whose pictures are decoded. One that was interrupted meanwhile
    /// has been answered.
    pub(super) async fn pictures_decoded(
        &mut self,
        submission: Submission,
        pictures: DecodedPictures,
    ) -> Result<Flow, Error> {
        let waiting = self
            .decoding
            .take_if(|decoding| decoding.id == submission.id);
        if waiting.is_none() {
            return Ok(Flow::Continue(()));
        }
        if let Some(conversation) = &mut self.conversation {
            conversation.pictures = pictures.into();
        }
        Box::pin(self.submission(submission)).await
    }

    /// Gives up the submission whose pictures are being decoded. Returns whether there was one.
    pub(super) fn stop_decoding(&mut self) -> Result<bool, Error> {
        let Some(decoding) = self.decoding.take() else {
            return Ok(false);
        };
        let error = ErrorEvent {
            message: "interrupted before its pictures were read; nothing was begun".to_owned(),
            fatal: false,
            error_info: Some(ErrorInfo::Interrupted),
        };
        self.emitter.error(&decoding.id, error)?;
        Ok(true)
    }

    /// Tells whether an op has to wait for the submission before it.
    pub(super) fn waits_for_pictures(&self, op: &Op) -> bool {
        let changes_nothing = matches!(
            op,
            Op::Interrupt
                | Op::Shutdown
                | Op::ExecApproval { .. }
                | Op::PatchApproval { .. }
                | Op::UserInputAnswer { .. }
                | Op::ResolveElicitation { .. }
                | Op::ListModels { .. }
                | Op::ListMcpTools
                | Op::ListSkills { .. }
        );
        self.decoding.is_some() && !changes_nothing
    }
}
