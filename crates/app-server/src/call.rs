//! One request of a client, from its parameters to its answer.

use std::pin::Pin;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use troupe_protocol::SessionId;
use troupe_protocol::discard;
use troupe_transport::rpc::{Outbox, RequestId, RpcError};

use super::connection::AppConnection;

/// What runs while a request is worked on.
pub(super) type Handling = Pin<Box<dyn Future<Output = ()> + Send>>;

#[derive(Debug)]
pub(super) struct MethodCall {
    pub connection: AppConnection,
    pub params: Option<Box<RawValue>>,
    pub reply: MethodReply,
}

impl MethodCall {
    /// Reads the parameters, has the handler work, and answers with what it returns.
    pub(super) fn answer<P, R, F>(
        self,
        handler: impl FnOnce(AppConnection, P) -> F + Send + 'static,
    ) -> Handling
    where
        P: DeserializeOwned + Send,
        R: Serialize + Send + Sync,
        F: Future<Output = Result<R, RpcError>> + Send,
    {
        Box::pin(async move {
            let outcome = match parse(self.params.as_deref()) {
                Ok(params) => handler(self.connection, params).await,
                Err(error) => Err(error),
            };
            self.reply.send(outcome).await;
        })
    }

    /// Reads the parameters and hands the handler the reply, which it may pass on.
    pub(super) fn pass<P, F>(
        self,
        handler: impl FnOnce(AppConnection, P, MethodReply) -> F + Send + 'static,
    ) -> Handling
    where
        P: DeserializeOwned + Send,
        F: Future<Output = ()> + Send,
    {
        Box::pin(async move {
            match parse(self.params.as_deref()) {
                Ok(params) => handler(self.connection, params, self.reply).await,
                Err(error) => self.reply.refuse(error).await,
            }
        })
    }
}

/// Reads parameters; what is wrong is told with the place where it is. No parameters are the
/// same as none of them.
pub(super) fn parse<P: DeserializeOwned>(params: Option<&RawValue>) -> Result<P, RpcError> {
    let text = params.map_or("{}", RawValue::get);
    let text = if text == "null" { "{}" } else { text };
    let mut json = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.inner().to_string();
        // Where it is in the text is of no use to who did not write the text.
        let problem = problem.split(" at line ").next().unwrap_or_default();
        RpcError::invalid_params(match path.as_str() {
            "." => format!("invalid params: {problem}"),
            path => format!("invalid params: {path}: {problem}"),
        })
    })
}

/// Reads the id of a thread.
pub(super) fn thread_id(text: &str) -> Result<SessionId, RpcError> {
    text.parse()
        .map_err(|_| RpcError::invalid_request(format!("invalid thread id: {text}")))
}

/// The one answer that a request gets.
#[derive(Debug)]
pub(super) struct MethodReply {
    outbox: Outbox,
    /// Taken when it is answered.
    id: Option<RequestId>,
}

impl MethodReply {
    pub(super) fn new(outbox: Outbox, id: RequestId) -> Self {
        let id = Some(id);
        Self { outbox, id }
    }

    pub(super) async fn send<R: Serialize>(mut self, outcome: Result<R, RpcError>) {
        let id = self.id.take();
        // A client that is gone needs no answer.
        discard!(
            self.outbox.answer(id.as_ref(), outcome.as_ref()).await,
            "the client is gone"
        );
    }

    pub(super) async fn refuse(self, error: RpcError) {
        self.send::<()>(Err(error)).await;
    }
}

/// Nobody is left waiting: a request that was dropped is told so.
impl Drop for MethodReply {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let outbox = self.outbox.clone();
            tokio::spawn(async move {
                let error = RpcError::internal("the request was dropped: its thread has ended");
                discard!(outbox.refuse(Some(&id), &error).await, "the client is gone");
            });
        }
    }
}
