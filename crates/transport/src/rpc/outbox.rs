//! The way to a peer: one bounded queue, one writer.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use troupe_protocol::discard;

use super::message::{AnswerMessage, RequestId, RequestMessage, RpcDialect, RpcError, RpcResponse};
use crate::limits::{BATCH_BYTES_MAX, OUTBOX_QUEUED_MAX};

/// Nobody reads any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the client is gone")]
pub struct PeerGone;

/// An answer to a request that was never sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nothing was asked under the id {id}")]
pub struct UnknownResponse {
    id: i64,
}

/// Where what goes to a peer is handed in, in the order in which it is sent. Cheap to clone.
/// Who hands in more than the peer takes waits: nothing is dropped, and nobody else waits.
#[derive(Debug, Clone)]
pub struct Outbox {
    dialect: RpcDialect,
    messages: mpsc::Sender<Vec<u8>>,
    asked: Arc<Mutex<OpenRequests>>,
}

/// Requests of ours that have no answer yet.
#[derive(Debug, Default)]
struct OpenRequests {
    last: i64,
    open: HashMap<i64, oneshot::Sender<Result<serde_json::Value, RpcError>>>,
}

/// A request of ours that was sent. Dropping it withdraws it: a later answer is nobody's.
#[derive(Debug)]
pub struct PeerRequest {
    id: i64,
    answer: oneshot::Receiver<Result<serde_json::Value, RpcError>>,
    asked: Arc<Mutex<OpenRequests>>,
}

impl Outbox {
    /// Returns an outbox, and what a writer takes messages from.
    pub fn new(dialect: RpcDialect) -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (messages, written) = mpsc::channel(OUTBOX_QUEUED_MAX);
        let outbox = Self {
            dialect,
            messages,
            asked: Arc::default(),
        };
        (outbox, written)
    }

    /// Sends something that is a whole message by itself.
    pub async fn send(&self, message: &impl Serialize) -> Result<(), PeerGone> {
        let text = match serde_json::to_vec(message) {
            Ok(text) => text,
            Err(error) => {
                // What JSON cannot express is told of, so that nobody waits for it.
                let error = RpcError::internal(format!("a message cannot be written: {error}"));
                let answer = AnswerMessage::<()>::new(self.dialect, None, Err(&error));
                serde_json::to_vec(&answer).unwrap_or_default()
            }
        };
        self.messages.send(text).await.map_err(|_| PeerGone)
    }

    /// Answers a request of the peer, or something that could not be read.
    pub async fn answer<T: Serialize>(
        &self,
        id: Option<&RequestId>,
        outcome: Result<&T, &RpcError>,
    ) -> Result<(), PeerGone> {
        self.send(&AnswerMessage::new(self.dialect, id, outcome))
            .await
    }

    /// Refuses a request of the peer.
    pub async fn refuse(&self, id: Option<&RequestId>, error: &RpcError) -> Result<(), PeerGone> {
        self.answer::<()>(id, Err(error)).await
    }

    /// Asks the peer something.
    pub async fn ask(
        &self,
        method: &str,
        params: &impl Serialize,
    ) -> Result<PeerRequest, PeerGone> {
        let (reply, answer) = oneshot::channel();
        let id = {
            let mut asking = lock(&self.asked);
            asking.last += 1;
            let id = asking.last;
            asking.open.insert(id, reply);
            id
        };
        let request = PeerRequest {
            id,
            answer,
            asked: Arc::clone(&self.asked),
        };
        self.send(&RequestMessage::new(self.dialect, id, method, params))
            .await?;
        Ok(request)
    }

    /// Hands an answer to whoever asked. One that nobody waits for any more is dropped.
    ///
    /// # Errors
    ///
    /// Nothing was ever asked under this id.
    pub fn answered(&self, response: RpcResponse) -> Result<(), UnknownResponse> {
        let mut asking = lock(&self.asked);
        if let Some(asker) = asking.open.remove(&response.id) {
            discard!(asker.send(response.outcome), "nobody waits for the answer");
        } else if !(1..=asking.last).contains(&response.id) {
            return Err(UnknownResponse { id: response.id });
        }
        Ok(())
    }
}

impl PeerRequest {
    pub fn id(&self) -> i64 {
        self.id
    }

    /// Returns the peer's answer. An answer that is not of this shape is an error too.
    pub async fn answer<T: DeserializeOwned>(mut self) -> Result<T, RpcError> {
        let value = self.wait_for_answer().await?;
        serde_path_to_error::deserialize(value)
            .map_err(|error| RpcError::invalid_params(error.to_string()))
    }

    /// Returns what the peer answers, whatever that is.
    pub async fn wait_for_answer(&mut self) -> Result<serde_json::Value, RpcError> {
        let gone = |_| Err(RpcError::internal(PeerGone.to_string()));
        (&mut self.answer).await.unwrap_or_else(gone)
    }

    /// Asks on under the same id: the answer that was heard is none.
    pub fn reopen(&mut self) {
        let (reply, answer) = oneshot::channel();
        lock(&self.asked).open.insert(self.id, reply);
        self.answer = answer;
    }
}

impl Drop for PeerRequest {
    fn drop(&mut self) {
        lock(&self.asked).open.remove(&self.id);
    }
}

fn lock(asked: &Mutex<OpenRequests>) -> MutexGuard<'_, OpenRequests> {
    // Each change of the table is whole or absent.
    asked.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes messages as lines, as many at once as wait, until all outboxes are gone or nobody
/// reads.
pub async fn write_lines(
    mut messages: mpsc::Receiver<Vec<u8>>,
    mut sink: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let mut batch = Vec::new();
    while let Some(message) = messages.recv().await {
        batch.extend_from_slice(&message);
        batch.push(b'\n');
        while batch.len() < BATCH_BYTES_MAX
            && let Ok(message) = messages.try_recv()
        {
            batch.extend_from_slice(&message);
            batch.push(b'\n');
        }
        sink.write_all(&batch).await?;
        sink.flush().await?;
        batch.clear();
    }
    Ok(())
}
