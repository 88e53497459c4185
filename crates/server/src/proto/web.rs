//! The network's protocols: which of them a connection speaks, and the token in its requests.

use std::sync::Arc;

use axum::middleware;
use http::{HeaderMap, header};
use tokio_util::sync::CancellationToken;
use troupe_transport::Protocol;

use super::converse::Door;
use super::hub::Hub;
use super::{grpc, http as rest, lines, ws};
use crate::connection::NetStream;
use crate::guard::Guard;
use crate::lobby::{Entry, Full};
use crate::web::{check, serve_http};

/// Who serves the connections of a listener.
#[derive(Debug, Clone)]
pub(super) struct Host {
    pub hub: Hub,
    pub door: Door,
    pub guard: Arc<Guard>,
    pub ending: CancellationToken,
}

pub(super) async fn serve(host: Host, protocol: Protocol, stream: NetStream, entry: Entry) {
    let door = Door {
        entry: Some(entry.clone()),
        ..host.door
    };
    let host = Host { door, ..host };
    let router = match protocol {
        Protocol::Tcp => {
            let (read, write) = tokio::io::split(stream);
            return lines::serve(&host.hub, &host.door, read, write).await;
        }
        Protocol::WebSocket => ws::router(),
        Protocol::Http => rest::router(),
        Protocol::Grpc => grpc::router(&host),
    };
    let checked = middleware::from_fn_with_state(Arc::clone(&host.guard), check);
    let (ending, keepalive) = (host.ending.clone(), host.hub.keepalive);
    let router = router.layer(checked).with_state(host);
    serve_http(router, stream, entry, keepalive, &ending).await;
}

/// How a request stands to the token.
pub(super) enum Shown {
    Right,
    Wrong,
    Nothing,
    /// It is right, and there is no place.
    Full(Full),
}

impl Host {
    /// Looks for the token in the headers of a request; who shows it has a place from then on.
    pub(super) fn shown(&self, headers: &HeaderMap) -> Shown {
        let Some(token) = &self.door.token else {
            return Shown::Right;
        };
        match headers
            .get(header::AUTHORIZATION)
            .map(|value| value.to_str())
        {
            None => Shown::Nothing,
            Some(Ok(value)) if token.is_bearer(value) => self
                .door
                .admit()
                .map_or_else(Shown::Full, |()| Shown::Right),
            Some(_) => Shown::Wrong,
        }
    }
}
