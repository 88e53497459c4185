//! What concerns all clients: said once, and read by each at its own pace. Whoever says it
//! waits for nobody.

use std::sync::Arc;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use troupe_protocol::discard;
use troupe_transport::rpc::PeerGone;

use super::connection::AppConnection;
use super::wire::notification::{ServerNotification, WarningNotification};
use crate::limits::NEWS_QUEUED_MAX;

#[derive(Debug)]
pub(super) struct ClientBroadcast(broadcast::Sender<BroadcastMessage>);

/// The side of one client.
#[derive(Debug)]
pub(super) struct BroadcastReader(broadcast::Receiver<BroadcastMessage>);

#[derive(Debug, Clone)]
struct BroadcastMessage {
    notification: Arc<ServerNotification>,
    /// The client that knows it already.
    known_to: Option<u64>,
}

impl ClientBroadcast {
    pub(super) fn new() -> Self {
        Self(broadcast::Sender::new(NEWS_QUEUED_MAX))
    }

    pub(super) fn listen(&self) -> BroadcastReader {
        BroadcastReader(self.0.subscribe())
    }

    pub(super) fn publish(&self, notification: ServerNotification, known_to: Option<u64>) {
        let notification = Arc::new(notification);
        // Without clients nobody needs to know.
        discard!(
            self.0.send(BroadcastMessage {
                notification,
                known_to,
            }),
            "nobody waits for the answer"
        );
    }
}

impl BroadcastReader {
    /// Passes on to a client what is said, until it is gone.
    pub(super) async fn forward_to(mut self, client: AppConnection) {
        while let Ok(told) = self.next(&client).await {
            if told.is_err() {
                return;
            }
        }
    }

    async fn next(&mut self, client: &AppConnection) -> Result<Result<(), PeerGone>, RecvError> {
        match self.0.recv().await {
            Ok(piece) if piece.known_to == Some(client.number()) => Ok(Ok(())),
            Ok(piece) => Ok(client.notify(&piece.notification).await),
            Err(RecvError::Lagged(missed)) => {
                let warning = ServerNotification::Warning(WarningNotification {
                    thread_id: None,
                    message: format!(
                        "{missed} notifications about threads were missed, because this client \
                         did not read; thread/list tells how they stand"
                    ),
                });
                Ok(client.notify(&warning).await)
            }
            Err(RecvError::Closed) => Err(RecvError::Closed),
        }
    }
}
