//! A review that a client asks for, and ends.

use troupe_protocol::event::Event;
use troupe_protocol::op::ReviewRequest;
use troupe_protocol::{Op, SubmissionId};
use troupe_transport::rpc::RpcError;

use super::{PendingSubmission, SubscriptionActor, running};
use crate::call::MethodReply;
use crate::now_ms;
use crate::wire::review::ReviewStartResponse;

impl SubscriptionActor {
    /// Begins a review, unless the thread is at work.
    pub(super) async fn begin_review(&mut self, request: ReviewRequest, reply: MethodReply) {
        if !self.thread.is_idle() || self.translator.review().is_some() {
            let message = "a turn is running; interrupt it or wait for its end";
            return reply.refuse(RpcError::invalid_request(message)).await;
        }
        let op = Op::Review {
            review_request: request,
        };
        self.submit(op, PendingSubmission::Review(reply)).await;
    }

    /// Tells whether this is the turn of the review that runs.
    pub(super) fn is_review(&self, turn: &str) -> bool {
        let review = self.translator.review();
        review.is_some_and(|review| review.id().0 == turn)
    }

    pub(super) async fn interrupt_review(&mut self, turn: String, reply: MethodReply) {
        if let Some(review) = self.translator.review_mut() {
            review.interrupt();
        }
        match self.thread.agents().cancel_reviews().await {
            // The end of the review answers, also one that has come by itself.
            Ok(()) => self.interrupts.push((SubmissionId(turn), reply)),
            Err(trouble) => {
                let error = RpcError::invalid_request(trouble.to_string());
                reply.refuse(error).await;
            }
        }
    }

    /// Answers who asked for the review that begins.
    pub(super) async fn review_begun(&mut self, event: &Event) {
        if let Some(PendingSubmission::Review(reply)) = self.submitted.remove(&event.id) {
            let response = ReviewStartResponse {
                turn: running(&event.id, Some(now_ms() / 1000)),
                review_thread_id: self.id.clone(),
            };
            reply.send(Ok(response)).await;
        }
    }
}

pub(super) fn in_review() -> RpcError {
    RpcError::invalid_request("a review is running; interrupt it or wait for its end")
}
