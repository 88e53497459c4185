//! The network's protocols: which of them a connection speaks, and the token in its requests.

use std::sync::Arc;

use axum::middleware;
use http::{HeaderMap, header};
use tokio_util::sync::CancellationToken;
use troupe_transport::NetProtocol;

use super::client::EntryRequirement;
use super::hub::ClientHub;
use super::{grpc, http as rest, lines, ws};
use crate::connection::NetStream;
use crate::guard::OriginGuard;
use crate::lobby::{ConnectionEntry, PlacesTaken};
use crate::web::{check, serve_http};

/// Who serves the connections of a listener.
#[derive(Debug, Clone)]
pub(super) struct WebHost {
    pub hub: ClientHub,
    pub door: EntryRequirement,
    pub guard: Arc<OriginGuard>,
    pub ending: CancellationToken,
}

pub(super) async fn serve(
    host: WebHost,
    protocol: NetProtocol,
    stream: NetStream,
    entry: ConnectionEntry,
) {
    let door = EntryRequirement {
        entry: Some(entry.clone()),
        ..host.door
    };
    let host = WebHost { door, ..host };
    let router = match protocol {
        NetProtocol::Tcp => {
            let (read, write) = tokio::io::split(stream);
            return lines::serve(&host.hub, &host.door, read, write).await;
        }
        NetProtocol::WebSocket => ws::router(),
        NetProtocol::Http => rest::router(),
        NetProtocol::Grpc => grpc::router(&host),
    };
    let checked = middleware::from_fn_with_state(Arc::clone(&host.guard), check);
    let (ending, keepalive) = (host.ending.clone(), host.hub.keepalive);
    let router = router.layer(checked).with_state(host);
    serve_http(router, stream, entry, keepalive, &ending).await;
}

/// How a request stands to the token.
pub(super) enum TokenStatus {
    Right,
    Wrong,
    Nothing,
    /// It is right, and there is no place.
    Full(PlacesTaken),
}

impl WebHost {
    /// Looks for the token in the headers of a request; who shows it has a place from then on.
    pub(super) fn shown(&self, headers: &HeaderMap) -> TokenStatus {
        let Some(token) = &self.door.token else {
            return TokenStatus::Right;
        };
        match headers
            .get(header::AUTHORIZATION)
            .map(|value| value.to_str())
        {
            None => TokenStatus::Nothing,
            Some(Ok(value)) if token.is_bearer(value) => self
                .door
                .admit()
                .map_or_else(TokenStatus::Full, |()| TokenStatus::Right),
            Some(_) => TokenStatus::Wrong,
        }
    }
}
