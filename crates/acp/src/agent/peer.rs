//! The client at the other end, as sessions speak to it.

use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, SessionId, SessionNotification, SessionUpdate,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;
use troupe_protocol::discard;
use troupe_transport::rpc::{Outbox, PeerGone, RequestId, RpcError};

const CANCEL_REQUEST: &str = "$/cancel_request";

/// Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct EditorPeer(Outbox);

#[derive(Serialize)]
struct OutgoingNotification<'a, T> {
    jsonrpc: &'static str,
    method: &'a str,
    params: &'a T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CancelRequest {
    request_id: i64,
}

impl EditorPeer {
    pub(super) fn new(outbox: Outbox) -> Self {
        Self(outbox)
    }

    pub(super) fn outbox(&self) -> &Outbox {
        &self.0
    }

    pub(super) async fn update(
        &self,
        session: &SessionId,
        update: SessionUpdate,
    ) -> Result<(), PeerGone> {
        let told = SessionNotification::new(session.clone(), update);
        self.tell(CLIENT_METHOD_NAMES.session_update, &told).await
    }

    pub(super) async fn answer<T: Serialize>(
        &self,
        id: &RequestId,
        outcome: Result<T, RpcError>,
    ) -> Result<(), PeerGone> {
        self.0.answer(Some(id), outcome.as_ref()).await
    }

    /// Asks the client something, until `settled` withdraws it. Returns nothing then.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        params: &impl Serialize,
        settled: &CancellationToken,
    ) -> Option<Result<T, RpcError>> {
        let Ok(request) = self.0.ask(method, params).await else {
            return None;
        };
        let request_id = request.id();
        tokio::select! {
            answer = request.answer() => Some(answer),
            () = settled.cancelled() => {
                // Who is gone shows nothing that would have to be taken away.
                discard!(self.tell(CANCEL_REQUEST, &CancelRequest { request_id }).await, "the client is gone");
                None
            }
        }
    }

    async fn tell(&self, method: &str, params: &impl Serialize) -> Result<(), PeerGone> {
        let jsonrpc = "2.0";
        self.0
            .send(&OutgoingNotification {
                jsonrpc,
                method,
                params,
            })
            .await
    }
}
