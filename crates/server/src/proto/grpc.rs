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

use super::converse::{Gone, Inlet, Outgoing, Outlet, converse};
use super::web::{Host, Shown};
use crate::limits::GRPC_BATCH_MESSAGES_MAX;
use crate::limits::OUTGOING_QUEUED_MAX;

pub(super) fn router(host: &Host) -> Router<Host> {
    let service = TroupeServer::new(Service(host.clone()))
        // A little more than a message of ours may have, so that a longer one is answered.
        .max_decoding_message_size(LINE_BYTES_MAX + 1024 * 1024)
        .max_encoding_message_size(usize::MAX);
    Router::new().route_service("/troupe.v1.Troupe/{method}", service)
}

#[derive(Debug)]
struct Service(Host);

type Outgoings = Pin<Box<dyn Stream<Item = Result<ServerMessage, Status>> + Send>>;

#[tonic::async_trait]
impl Troupe for Service {
    type AttachStream = Outgoings;

    async fn attach(
        &self,
        request: Request<Streaming<ClientMessage>>,
    ) -> Result<Response<Outgoings>, Status> {
        let host = self.0.clone();
        let (metadata, _, incoming) = request.into_parts();
        let door = match host.shown(&metadata.into_headers()) {
            Shown::Right => host.door.clone().opened(),
            Shown::Nothing => host.door.clone(),
            Shown::Full(full) => return Err(Status::unavailable(full.to_string())),
            Shown::Wrong => return Err(Status::unauthenticated("the token is wrong")),
        };
        let (sender, mut messages) = mpsc::channel(OUTGOING_QUEUED_MAX);
        let gone = CancellationToken::new();
        let reading = gone.clone().drop_guard();
        tokio::spawn(async move {
            let inlet = Received {
                incoming: Some(incoming),
                gone,
            };
            let outlet = Sent {
                sender,
                queue: Vec::new(),
            };
            // Ends when the response is dropped, and `reading` with it.
            converse(&host.hub, &door, inlet, outlet).await;
        });
        let next = move |context: &mut Context<'_>| {
            let _reading = &reading;
            messages.poll_recv(context)
        };
        Ok(Response::new(Box::pin(stream::poll_fn(next))))
    }
}

struct Received {
    /// `None` when the client has said its last; it may go on listening.
    incoming: Option<Streaming<ClientMessage>>,
    gone: CancellationToken,
}

impl Inlet for Received {
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

struct Sent {
    sender: mpsc::Sender<Result<ServerMessage, Status>>,
    queue: Vec<ServerMessage>,
}

impl Outlet for Sent {
    fn add(&mut self, message: Outgoing<'_>) {
        self.queue.push(match message {
            Outgoing::Notice(notice) => grpc::notice(notice),
            Outgoing::Event(event) => grpc::event(event),
        });
    }

    fn is_full(&self) -> bool {
        self.queue.len() >= GRPC_BATCH_MESSAGES_MAX
    }

    async fn flush(&mut self) -> Result<(), Gone> {
        for message in self.queue.drain(..) {
            self.sender.send(Ok(message)).await.map_err(|_| Gone)?;
        }
        Ok(())
    }

    async fn close(&mut self) {
        // In place of the only sender comes one that nobody reads from: the stream ends.
        self.sender = mpsc::channel(1).0;
    }
}
