//! gRPC: one stream each way.

use std::io;

use futures_util::stream;
use tokio::sync::mpsc;
use tonic::Streaming;
use troupe_transport::grpc::{ClientMessage, ServerMessage, TroupeClient, from_server, to_server};
use troupe_transport::limits::LINE_BYTES_MAX;
use troupe_transport::{FromServer, ToServer};

use crate::connect::{HttpOrigin, Stream};
use crate::h2::Http2Connection;
use crate::limits::COMMANDS_QUEUED_MAX;

pub(crate) struct GrpcLink {
    sender: mpsc::Sender<ClientMessage>,
    messages: Streaming<ServerMessage>,
    _client: TroupeClient<Http2Connection<tonic::body::Body>>,
}

impl std::fmt::Debug for GrpcLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GrpcLink")
    }
}

impl GrpcLink {
    pub(crate) async fn new(stream: Stream, origin: &HttpOrigin) -> io::Result<Self> {
        let connection = Http2Connection::new(stream).await?;
        let uri = origin.url("http", "/").parse().map_err(io::Error::other)?;
        let mut client = TroupeClient::with_origin(connection, uri)
            .max_decoding_message_size(LINE_BYTES_MAX + 1024 * 1024)
            .max_encoding_message_size(usize::MAX);
        let (sender, mut queue) = mpsc::channel(COMMANDS_QUEUED_MAX);
        let outgoing = stream::poll_fn(move |context| queue.poll_recv(context));
        let response = client.attach(outgoing).await.map_err(io::Error::other)?;
        Ok(Self {
            sender,
            messages: response.into_inner(),
            _client: client,
        })
    }

    pub(crate) async fn next(&mut self) -> io::Result<Option<FromServer>> {
        while let Some(message) = self.messages.message().await.map_err(io::Error::other)? {
            if let Ok(message) = from_server(message) {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    pub(crate) async fn send(&mut self, message: &ToServer) -> io::Result<()> {
        let message = to_server(message)?;
        let sent = self.sender.send(message).await;
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
