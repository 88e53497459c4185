//! gRPC: `troupe.v1.Troupe/Attach`, one stream each way.

use std::pin::Pin;
use std::task::Context;

use axum::Router;
use futures_core::Stream;
use futures_util::stream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};
use troupe_transport::FromClient;
use troupe_transport::grpc::{
    self, ClientMessage, ServerMessage, Troupe, TroupeServer, from_client,
};
use troupe_transport::limits::LINE_BYTES_MAX;

use super::client::{ClientGone, ClientInlet, ClientOutlet, OutgoingMessage, serve_client};
use super::web::{TokenStatus, WebHost};
use crate::limits::OUTGOING_QUEUED_MAX;

/// Messages that are sent at once at most.
const BATCH_MESSAGES_MAX: usize = OUTGOING_QUEUED_MAX;

pub(super) fn router(host: &WebHost) -> Router<WebHost> {
    let service = TroupeServer::new(AttachService(host.clone()))
        // A little more than a message of ours may have, so that a longer one is answered.
        .max_decoding_message_size(LINE_BYTES_MAX + 1024 * 1024)
        .max_encoding_message_size(usize::MAX);
    Router::new().route_service("/troupe.v1.Troupe/{method}", service)
}

#[derive(Debug)]
struct AttachService(WebHost);

type Outgoings = Pin<Box<dyn Stream<Item = Result<ServerMessage, Status>> + Send>>;

#[tonic::async_trait]
impl Troupe for AttachService {
    type AttachStream = Outgoings;

    async fn attach(
        &self,
        request: Request<Streaming<ClientMessage>>,
    ) -> Result<Response<Outgoings>, Status> {
        let host = self.0.clone();
        let (metadata, _, incoming) = request.into_parts();
        let door = match host.shown(&metadata.into_headers()) {
            TokenStatus::Right => host.door.clone().opened(),
            TokenStatus::Nothing => host.door.clone(),
            TokenStatus::Full(full) => return Err(Status::unavailable(full.to_string())),
            TokenStatus::Wrong => return Err(Status::unauthenticated("the token is wrong")),
        };
        let (sender, mut messages) = mpsc::channel(OUTGOING_QUEUED_MAX);
        let gone = CancellationToken::new();
        let reading = gone.clone().drop_guard();
        tokio::spawn(async move {
            let inlet = GrpcInlet {
                incoming: Some(incoming),
                gone,
            };
            let outlet = GrpcOutlet {
                sender,
                queue: Vec::new(),
            };
            // Ends when the response is dropped, and `reading` with it.
            serve_client(&host.hub, &door, inlet, outlet).await;
        });
        let next = move |context: &mut Context<'_>| {
            let _reading = &reading;
            messages.poll_recv(context)
        };
        Ok(Response::new(Box::pin(stream::poll_fn(next))))
    }
}

struct GrpcInlet {
    /// `None` when the client has said its last; it may go on listening.
    incoming: Option<Streaming<ClientMessage>>,
    gone: CancellationToken,
}

impl ClientInlet for GrpcInlet {
    async fn next(&mut self) -> Option<FromClient> {
        if let Some(incoming) = &mut self.incoming {
            match incoming.message().await {
                Ok(Some(message)) => return Some(from_client(message)),
                // The stream failed: a message was too long or no message, or nobody is there.
                Err(_) => return None,
                Ok(None) => self.incoming = None,
            }
        }
        self.gone.cancelled().await;
        None
    }
}

struct GrpcOutlet {
    sender: mpsc::Sender<Result<ServerMessage, Status>>,
    queue: Vec<ServerMessage>,
}

impl ClientOutlet for GrpcOutlet {
    fn add(&mut self, message: OutgoingMessage<'_>) {
        self.queue.push(match message {
            OutgoingMessage::Notice(notice) => grpc::notice(notice),
            OutgoingMessage::Event(event) => grpc::event(event),
        });
    }

    fn is_full(&self) -> bool {
        self.queue.len() >= BATCH_MESSAGES_MAX
    }

    async fn flush(&mut self) -> Result<(), ClientGone> {
        for message in self.queue.drain(..) {
            self.sender
                .send(Ok(message))
                .await
                .map_err(|_| ClientGone)?;
        }
        Ok(())
    }

    async fn close(&mut self) {
        // In place of the only sender comes one that nobody reads from: the stream ends.
        self.sender = mpsc::channel(1).0;
    }
}
