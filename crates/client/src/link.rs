//! One connection, whatever it is made of.

use std::io;

use troupe_transport::{FromServer, ToServer};

use crate::grpc::GrpcLink;
use crate::http::HttpLink;
use crate::lines::LineLink;
use crate::ws::WsLink;

#[derive(Debug)]
pub(crate) enum ClientLink {
    Lines(LineLink),
    WebSocket(Box<WsLink>),
    Http(Box<HttpLink>),
    Grpc(Box<GrpcLink>),
}

impl ClientLink {
    /// Returns the next message; `None` when the server has closed. A message of a newer
    /// server that means nothing to us is left out. Safe to cancel.
    pub(crate) async fn next(&mut self) -> io::Result<Option<FromServer>> {
        match self {
            Self::Lines(link) => link.next().await,
            Self::WebSocket(link) => link.next().await,
            Self::Http(link) => link.next().await,
            Self::Grpc(link) => link.next().await,
        }
    }

    pub(crate) async fn send(&mut self, message: &ToServer) -> io::Result<()> {
        match self {
            Self::Lines(link) => link.send(message).await,
            Self::WebSocket(link) => link.send(message).await,
            Self::Http(link) => link.send(message).await,
            Self::Grpc(link) => link.send(message).await,
        }
    }
}
