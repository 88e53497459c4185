//! What the network's protocols have in common: the connection, and for those that speak HTTP
//! the look at each request before it is served.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio_util::sync::CancellationToken;
use troupe_transport::Protocol;

use super::converse::Door;
use super::hub::Hub;
use super::{grpc, http as rest, lines, ws};
use crate::connection::NetStream;
use crate::guard::Guard;
use crate::limits::SIGNS_MISSED_MAX;

/// Who serves the connections of a listener.
#[derive(Debug, Clone)]
pub(super) struct Host {
    pub hub: Hub,
    pub door: Door,
    pub guard: Arc<Guard>,
    pub ending: CancellationToken,
}

pub(super) async fn serve(host: Host, protocol: Protocol, stream: NetStream) {
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
    serve_http(router, stream, keepalive, &ending).await;
}

pub(crate) async fn serve_http(
    router: Router,
    stream: NetStream,
    keepalive: Duration,
    ending: &CancellationToken,
) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(keepalive)
        .keep_alive_timeout(keepalive * SIGNS_MISSED_MAX);
    let service = TowerToHyperService::new(router);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // What a client did wrong it was told in its own protocol.
        _ = connection.as_mut() => {}
        () = ending.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await.ok();
        }
    }
}

/// Refuses requests that a page of somebody else's may have made.
pub(crate) async fn check(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    match guard.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(foreign) => (StatusCode::FORBIDDEN, format!("{foreign}\n")).into_response(),
    }
}

/// How a request stands to the token.
pub(super) enum Shown {
    Right,
    Wrong,
    Nothing,
}

impl Host {
    /// Looks for the token in the headers of a request.
    pub(super) fn shown(&self, headers: &HeaderMap) -> Shown {
        let token = match &self.door {
            Door::Open => return Shown::Right,
            Door::Locked(token) => token,
        };
        match headers
            .get(header::AUTHORIZATION)
            .map(|value| value.to_str())
        {
            None => Shown::Nothing,
            Some(Ok(value)) if token.is_bearer(value) => Shown::Right,
            Some(_) => Shown::Wrong,
        }
    }
}
