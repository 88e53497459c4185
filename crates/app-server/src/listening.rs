//! The app-server for any number of clients: a WebSocket on a Unix socket, or on the network
//! with a token.
//!
//! ```text
//!  accept (a task per connection) ─► HTTP: /readyz, /healthz, Host, Origin, token
//!                                      └─ upgrade ─► the same task: socket::converse
//! ```

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use http::StatusCode;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use troupe_protocol::discard;
use troupe_server::connection::{accept_net, accept_unix};
use troupe_server::guard::OriginGuard;
use troupe_server::limits::{CONNECTIONS_MAX, ENDING_MS_MAX};
use troupe_server::listen::{BoundListener, BoundListeners, ListenError, ListenOptions, offers};
use troupe_server::lobby::{ConnectionEntry, ConnectionPlaces};
use troupe_server::token::AccessToken;
use troupe_server::web::{admit_user, check, serve_http, show_token};
use troupe_transport::limits::RPC_MESSAGE_BYTES_MAX;
use troupe_transport::{NetProtocol, SessionAddress};

use super::AppServer;
use super::socket::converse;
use crate::limits::MESSAGE_SLACK_BYTES;

/// Addresses that are bound, and who may come in.
#[derive(Debug)]
pub struct AppListener(BoundListeners);

/// Who is let in over the network.
#[derive(Debug, Clone)]
struct NetworkAdmission {
    guard: Arc<OriginGuard>,
    token: Arc<AccessToken>,
}

/// How one connection came.
struct AcceptedConnection {
    /// Without a door the other end is known to be the user.
    door: Option<NetworkAdmission>,
    entry: ConnectionEntry,
}

/// What requests of one connection are served with.
#[derive(Debug, Clone)]
struct UpgradeContext {
    /// Takes the connection once it is a WebSocket.
    upgraded: mpsc::Sender<WebSocket>,
    ending: CancellationToken,
}

impl AppListener {
    /// Binds every address of the options: Unix sockets and WebSockets.
    pub async fn bind(options: ListenOptions) -> Result<Self, ListenError> {
        let is_served = |address: &SessionAddress| {
            matches!(
                address,
                SessionAddress::Unix(_) | SessionAddress::Net(NetProtocol::WebSocket, _)
            )
        };
        let options = options.only(is_served, "unix://PATH or ws://IP:PORT")?;
        BoundListeners::bind(options).await.map(Self)
    }

    /// Returns where clients find it, ports that the system chose included.
    pub fn urls(&self) -> impl Iterator<Item = String> {
        let scheme = match self.0.tls {
            Some(_) => "wss",
            None => "ws",
        };
        self.0.addresses().map(move |address| match address {
            SessionAddress::Net(_, place) => format!("{scheme}://{place}"),
            SessionAddress::Unix(path) => format!("unix://{}", path.display()),
            SessionAddress::Stdio => "stdio://".to_owned(),
        })
    }

    /// Serves until `ending` says so. The threads of the app go on.
    pub async fn run(self, app: &AppServer, ending: CancellationToken) {
        let bound = self.0;
        let keepalive = bound.keepalive;
        let door = NetworkAdmission {
            guard: Arc::new(bound.guard),
            // Nobody comes where nothing listens.
            token: Arc::new(bound.token.unwrap_or_else(AccessToken::random)),
        };
        let places = ConnectionPlaces::new(CONNECTIONS_MAX);
        let mut accepting = JoinSet::new();
        for listener in bound.listeners {
            let (app, places, until) = (app.clone(), places.clone(), ending.clone());
            match listener {
                BoundListener::Stdio => {}
                BoundListener::Unix(_, socket) => {
                    let served = move |stream, entry| {
                        let (app, until) = (app.clone(), until.clone());
                        let way = AcceptedConnection { door: None, entry };
                        async move { serve(&app, stream, way, keepalive, until).await }
                    };
                    accepting.spawn(accept_unix(socket, places, ending.clone(), served));
                }
                BoundListener::Net(_, protocol, listener) => {
                    let tls = bound.tls.as_ref().map(|tls| tls.acceptor(offers(protocol)));
                    let door = door.clone();
                    let served = move |stream, entry| {
                        let (app, until) = (app.clone(), until.clone());
                        let door = Some(door.clone());
                        let way = AcceptedConnection { door, entry };
                        async move { serve(&app, stream, way, keepalive, until).await }
                    };
                    let ending = ending.clone();
                    accepting.spawn(accept_net(listener, keepalive, tls, places, ending, served));
                }
            }
        }
        ending.cancelled().await;
        let all = async { while accepting.join_next().await.is_some() {} };
        // Who does not read the last word in time does not get it.
        discard!(
            timeout(Duration::from_millis(ENDING_MS_MAX), all).await,
            "a client did not read its last messages in time"
        );
    }
}

/// Serves one connection.
async fn serve(
    app: &AppServer,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    way: AcceptedConnection,
    keepalive: Duration,
    ending: CancellationToken,
) {
    let (upgraded, mut sockets) = mpsc::channel(1);
    let desk = UpgradeContext {
        upgraded,
        ending: ending.clone(),
    };
    let router = router(desk, way.door);
    serve_http(router, stream, way.entry, keepalive, &ending).await;
    // It stays with the task that accepted it, which holds its place.
    if let Some(socket) = sockets.recv().await {
        converse(app, socket, keepalive, &ending).await;
    }
}

fn router(desk: UpgradeContext, door: Option<NetworkAdmission>) -> Router {
    let clients = Router::new().fallback(any(upgrade));
    let probes = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready));
    let Some(NetworkAdmission { guard, token }) = door else {
        let clients = clients.layer(middleware::from_fn(admit_user));
        return clients.merge(probes).with_state(desk);
    };
    clients
        .layer(middleware::from_fn_with_state(token, show_token))
        // Whoever only asks whether we are there needs no token.
        .merge(probes)
        .layer(middleware::from_fn_with_state(guard, check))
        .with_state(desk)
}

async fn ready(State(desk): State<UpgradeContext>) -> Response {
    if desk.ending.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "the server is ending\n").into_response();
    }
    "ok\n".into_response()
}

async fn upgrade(
    State(desk): State<UpgradeContext>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(other) => {
            let message = format!("clients speak over a WebSocket: {}\n", other.body_text());
            return (other.status(), message).into_response();
        }
    };
    upgrade
        // The bound of a message is ours, so that a longer one is answered.
        .max_message_size(RPC_MESSAGE_BYTES_MAX + MESSAGE_SLACK_BYTES)
        .max_frame_size(RPC_MESSAGE_BYTES_MAX + MESSAGE_SLACK_BYTES)
        .on_upgrade(async move |socket| {
            // A connection that was given up has nobody to serve it.
            discard!(
                desk.upgraded.send(socket).await,
                "an upgraded connection was dropped: it was given up meanwhile"
            );
        })
}
