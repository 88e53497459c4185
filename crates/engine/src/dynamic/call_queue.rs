//! Where calls wait for a client.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use troupe_protocol::discard;
use troupe_protocol::{CallId, SubmissionId};

use super::reply::ClientToolReply;

/// The calls of one session that wait for a client, and who follows them.
#[derive(Debug, Default)]
pub struct ClientCallQueue(Mutex<CallQueueState>);

#[derive(Debug, Default)]
struct CallQueueState {
    followers_made: u64,
    followers: BTreeSet<u64>,
    waiting: BTreeMap<CallId, WaitingCall>,
}

#[derive(Debug)]
struct WaitingCall {
    call: ClientToolCall,
    /// The followers that said that they cannot do it.
    declined: BTreeSet<u64>,
    reply: oneshot::Sender<Result<ClientToolReply, ClientCallError>>,
}

/// What a client is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientToolCall {
    pub call_id: CallId,
    pub turn_id: SubmissionId,
    /// The namespace of the tool, if it has one.
    pub namespace: Option<String>,
    pub tool: String,
    pub arguments: Map<String, Value>,
}

/// Why no client answers a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ClientCallError {
    #[error(
        "no client follows this conversation, so nobody can run the tool; go on without it, or \
         say in your answer what is missing"
    )]
    NobodyFollows,
    #[error(
        "the client left before it answered; whether the tool did anything is not known, and \
         nobody is there to run it again"
    )]
    ClientLeft,
    #[error("the client answered with an error: {0}")]
    Declined(String),
    #[error("another call with the same id is still waiting for the client")]
    SameId,
}

/// A call that waits. Dropping it withdraws the call.
#[derive(Debug)]
pub(super) struct PendingClientCall {
    desk: Arc<ClientCallQueue>,
    call_id: CallId,
    reply: oneshot::Receiver<Result<ClientToolReply, ClientCallError>>,
}

/// A client that is asked. Dropping it tells the desk that it has left.
#[derive(Debug)]
pub struct ClientCallSubscriber {
    desk: Arc<ClientCallQueue>,
    number: u64,
}

impl ClientCallQueue {
    /// Has somebody be asked from now on, beside those that are.
    pub fn follow(self: &Arc<Self>) -> ClientCallSubscriber {
        let mut state = self.state();
        state.followers_made += 1;
        let number = state.followers_made;
        state.followers.insert(number);
        ClientCallSubscriber {
            desk: Arc::clone(self),
            number,
        }
    }

    /// Lays a call out for the followers.
    pub(super) fn enqueue_call(
        self: &Arc<Self>,
        call: ClientToolCall,
    ) -> Result<PendingClientCall, ClientCallError> {
        let mut state = self.state();
        if state.followers.is_empty() {
            return Err(ClientCallError::NobodyFollows);
        }
        if state.waiting.contains_key(&call.call_id) {
            return Err(ClientCallError::SameId);
        }
        let (reply, answered) = oneshot::channel();
        let call_id = call.call_id.clone();
        let waiting = WaitingCall {
            call,
            declined: BTreeSet::new(),
            reply,
        };
        state.waiting.insert(call_id.clone(), waiting);
        Ok(PendingClientCall {
            desk: Arc::clone(self),
            call_id,
            reply: answered,
        })
    }

    fn state(&self) -> MutexGuard<'_, CallQueueState> {
        // Each change of the state is whole or absent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallQueueState {
    /// Ends the calls that nobody is left for.
    fn give_up(&mut self, why: &ClientCallError) {
        let followers = &self.followers;
        let over = self
            .waiting
            .extract_if(.., |_, waiting| followers.is_subset(&waiting.declined));
        for (_, waiting) in over.collect::<Vec<_>>() {
            waiting.settle(Err(why.clone()));
        }
    }
}

impl WaitingCall {
    fn settle(self, outcome: Result<ClientToolReply, ClientCallError>) {
        // A call that was stopped meanwhile has said so.
        discard!(self.reply.send(outcome), "nobody waits for the answer");
    }
}

impl PendingClientCall {
    pub(super) async fn answered(mut self) -> Result<ClientToolReply, ClientCallError> {
        let outcome = (&mut self.reply).await;
        outcome.unwrap_or(Err(ClientCallError::ClientLeft))
    }
}

impl Drop for PendingClientCall {
    fn drop(&mut self) {
        self.reply.close();
        let mut state = self.desk.state();
        // After an answer, the id may be that of a later call.
        let waiting = state.waiting.get(&self.call_id);
        if waiting.is_some_and(|waiting| waiting.reply.is_closed()) {
            state.waiting.remove(&self.call_id);
        }
    }
}

impl ClientCallSubscriber {
    /// Returns a call that waits and that this follower has not declined.
    pub fn call(&self, id: &CallId) -> Option<ClientToolCall> {
        let state = self.desk.state();
        let waiting = state.waiting.get(id)?;
        (!waiting.declined.contains(&self.number)).then(|| waiting.call.clone())
    }

    /// Returns all calls that wait.
    pub fn calls(&self) -> Vec<ClientToolCall> {
        let state = self.desk.state();
        let waiting = state.waiting.values();
        waiting.map(|waiting| waiting.call.clone()).collect()
    }

    /// Answers a call. The first answer counts; a later one is nobody's.
    pub fn answer(&self, id: &CallId, reply: ClientToolReply) {
        if let Some(waiting) = self.desk.state().waiting.remove(id) {
            waiting.settle(Ok(reply));
        }
    }

    /// Says that this follower cannot do it. Another may: the call ends when all have said so.
    pub fn decline(&self, id: &CallId, why: String) {
        let mut state = self.desk.state();
        if let Some(waiting) = state.waiting.get_mut(id) {
            waiting.declined.insert(self.number);
            state.give_up(&ClientCallError::Declined(why));
        }
    }
}

impl Drop for ClientCallSubscriber {
    fn drop(&mut self) {
        let mut state = self.desk.state();
        state.followers.remove(&self.number);
        state.give_up(&ClientCallError::ClientLeft);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Map;
    use troupe_protocol::{CallId, SubmissionId};

    use super::{ClientCallError, ClientCallQueue, ClientToolCall};
    use crate::dynamic::{ClientToolReply, ReplyPart};

    fn call(id: &str) -> ClientToolCall {
        ClientToolCall {
            call_id: CallId(id.to_owned()),
            turn_id: SubmissionId("turn".to_owned()),
            namespace: None,
            tool: "lookup".to_owned(),
            arguments: Map::new(),
        }
    }

    fn reply(text: &str) -> ClientToolReply {
        ClientToolReply {
            parts: vec![ReplyPart::Text(text.to_owned())],
            success: true,
        }
    }

    #[tokio::test]
    async fn the_first_answer_counts() {
        let desk = Arc::new(ClientCallQueue::default());
        let (first, second) = (desk.follow(), desk.follow());
        let ticket = desk.enqueue_call(call("a")).unwrap();
        let id = CallId("a".to_owned());
        assert_eq!(second.call(&id), Some(call("a")));
        second.answer(&id, reply("one"));
        first.answer(&id, reply("two"));
        assert_eq!(first.call(&id), None);
        assert_eq!(ticket.answered().await, Ok(reply("one")));
    }

    #[tokio::test]
    async fn who_cannot_do_it_leaves_it_to_others() {
        let desk = Arc::new(ClientCallQueue::default());
        let (first, second) = (desk.follow(), desk.follow());
        let ticket = desk.enqueue_call(call("a")).unwrap();
        let id = CallId("a".to_owned());
        first.decline(&id, "unknown method".to_owned());
        assert_eq!((first.call(&id), second.call(&id)), (None, Some(call("a"))));
        second.decline(&id, "broken".to_owned());
        let broken = ClientCallError::Declined("broken".to_owned());
        assert_eq!(ticket.answered().await, Err(broken));
    }

    #[tokio::test]
    async fn the_call_ends_when_nobody_is_left() {
        let desk = Arc::new(ClientCallQueue::default());
        let refused = desk.enqueue_call(call("a"));
        assert_eq!(refused.unwrap_err(), ClientCallError::NobodyFollows);
        let (first, second) = (desk.follow(), desk.follow());
        let ticket = desk.enqueue_call(call("a")).unwrap();
        first.decline(&CallId("a".to_owned()), "unknown method".to_owned());
        drop(second);
        assert_eq!(ticket.answered().await, Err(ClientCallError::ClientLeft));
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_is_withdrawn_and_one_of_the_same_id_waits_for_its_end() {
        let desk = Arc::new(ClientCallQueue::default());
        let follower = desk.follow();
        let ticket = desk.enqueue_call(call("a")).unwrap();
        let same = desk.enqueue_call(call("a"));
        assert_eq!(same.unwrap_err(), ClientCallError::SameId);
        assert_eq!(follower.calls(), [call("a")]);
        drop(ticket);
        assert_eq!(follower.calls(), []);
    }
}
