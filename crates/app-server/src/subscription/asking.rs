//! Questions of the thread and of those below it: each is put to the client once, and what it
//! answers goes back as a submission. The request stays open until the answer is taken.

use std::collections::hash_map::Entry;

use futures_util::{FutureExt, StreamExt};
use serde_json::{Value, json};
use troupe_protocol::{CallId, PendingQuestion, discard};
use troupe_transport::rpc::{PeerGone, PeerRequest, RpcError};

use super::{PendingSubmission, SubscriptionActor};
use crate::questions;
use crate::wire::notification::{ResolvedNotification, ServerNotification};

pub(super) struct AskedQuestion {
    question: PendingQuestion,
    request: i64,
}

/// What a client said to a question. The request can be answered again if that is no answer.
pub(super) struct ClientAnswer {
    call: CallId,
    request: PeerRequest,
    answer: Result<Value, RpcError>,
}

impl SubscriptionActor {
    pub(super) async fn put(&mut self, question: PendingQuestion) -> Result<(), PeerGone> {
        if self.asked.contains_key(question.id()) {
            return Ok(());
        }
        self.show(&question).await?;
        let Entry::Vacant(place) = self.asked.entry(question.id().clone()) else {
            return Ok(());
        };
        let request = questions::put(&question, self.connection.outbox(), &self.id).await?;
        let call = question.id().clone();
        place.insert(AskedQuestion {
            question,
            request: request.id(),
        });
        self.await_answer(call, request);
        Ok(())
    }

    fn await_answer(&mut self, call: CallId, mut request: PeerRequest) {
        let answered = async move {
            let answer = request.wait_for_answer().await;
            ClientAnswer {
                call,
                request,
                answer,
            }
        };
        self.answers.push(answered.boxed());
    }

    /// Tells of the item that is asked about, if that was not told yet: the question names it,
    /// and what a patch would change stands only there.
    async fn show(&mut self, question: &PendingQuestion) -> Result<(), PeerGone> {
        let Some(asked) = questions::item(question) else {
            return Ok(());
        };
        let translator = match question.agent() {
            Some(agent) => self.children.translator(agent.session_id),
            None => &mut self.translator,
        };
        match translator.asked(asked) {
            Some(started) => self.connection.notify(&started).await,
            None => Ok(()),
        }
    }

    pub(super) async fn answer(&mut self, answered: ClientAnswer) -> Result<(), PeerGone> {
        let ClientAnswer {
            call,
            request,
            answer,
        } = answered;
        let Some(asked) = self.asked.get(&call) else {
            return Ok(());
        };
        match questions::op(&asked.question, answer) {
            Ok(op) => {
                self.submit(op, PendingSubmission::Answer { call, request })
                    .await;
                Ok(())
            }
            Err(problem) => {
                let problem = format!("this is no answer: {problem}");
                self.ask_on(call, request, problem).await
            }
        }
    }

    /// Tells a client that its answer was not taken, and waits for another one. The error has no
    /// id of its own, because a client may have a request of the same number.
    pub(super) async fn ask_on(
        &mut self,
        call: CallId,
        mut request: PeerRequest,
        problem: String,
    ) -> Result<(), PeerGone> {
        request.reopen();
        let id = request.id();
        let error = RpcError {
            data: Some(json!({ "requestId": id })),
            ..RpcError::invalid_params(format!("{problem} (the request {id} stays open)"))
        };
        self.await_answer(call, request);
        self.connection.outbox().refuse(None, &error).await
    }

    /// Passes on the answers that came before the client left.
    pub(super) async fn answered(&mut self) {
        self.tool_calls.answered();
        while let Some(Some(answered)) = self.answers.next().now_or_never() {
            // It does not hear what is wrong with its answer.
            discard!(self.answer(answered).await, "the client is gone");
        }
    }

    pub(super) async fn resolved(&mut self, call: &CallId) -> Result<(), PeerGone> {
        let Some(asked) = self.asked.remove(call) else {
            return Ok(());
        };
        let is_settled = |waits: &PendingSubmission| matches!(waits, PendingSubmission::Answer { call: about, .. } if about == call);
        self.submitted.retain(|_, waits| !is_settled(waits));
        let resolved = ResolvedNotification {
            thread_id: self.id.clone(),
            request_id: asked.request,
        };
        let resolved = ServerNotification::ServerRequestResolved(resolved);
        self.connection.notify(&resolved).await
    }
}
