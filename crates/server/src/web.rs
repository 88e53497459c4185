//! What all that is spoken over HTTP has in common: the connection, and the look at each
//! request before it is served.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use http::{StatusCode, header};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use troupe_protocol::discard;

use crate::guard::OriginGuard;
use crate::limits::SIGNS_MISSED_MAX;
use crate::lobby::{ConnectionEntry, PlacesTaken};
use crate::token::AccessToken;

/// Serves the requests of one connection, until it is closed, handed over, or told to end. Its
/// requests have its entry among their extensions.
pub async fn serve_http(
    router: Router,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    entry: ConnectionEntry,
    keepalive: Duration,
    ending: &CancellationToken,
) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(keepalive)
        .keep_alive_timeout(keepalive * SIGNS_MISSED_MAX);
    let service = TowerToHyperService::new(router.layer(Extension(entry)));
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // What a client did wrong it was told in its own protocol.
        _ = connection.as_mut() => {}
        () = ending.cancelled() => {
            connection.as_mut().graceful_shutdown();
            discard!(connection.await, "a connection ended by an error");
        }
    }
}

/// Refuses requests that a page of somebody else's may have made.
pub async fn check(
    State(guard): State<Arc<OriginGuard>>,
    request: Request,
    next: Next,
) -> Response {
    match guard.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(foreign) => (StatusCode::FORBIDDEN, format!("{foreign}\n")).into_response(),
    }
}

/// Gives a connection its place that the kernel knows to be the user's, with its first request.
pub async fn admit_user(
    Extension(entry): Extension<ConnectionEntry>,
    request: Request,
    next: Next,
) -> Response {
    match entry.admit() {
        Ok(()) => next.run(request).await,
        Err(full) => no_place(full),
    }
}

/// Says that there is no place, however right the token is.
pub fn no_place(full: PlacesTaken) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, format!("{full}\n")).into_response()
}

/// Refuses who does not show the token.
pub async fn show_token(
    State(token): State<Arc<AccessToken>>,
    Extension(entry): Extension<ConnectionEntry>,
    request: Request,
    next: Next,
) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION);
    let message = match shown.map(|value| value.to_str()) {
        Some(Ok(value)) if token.is_bearer(value) => {
            return match entry.admit() {
                Ok(()) => next.run(request).await,
                Err(full) => no_place(full),
            };
        }
        Some(_) => "the token is wrong\n",
        None => "show the token: Authorization: Bearer TOKEN\n",
    };
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, challenge, message).into_response()
}
