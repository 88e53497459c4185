//! The daemon for any number of clients: HTTP/1.1 and HTTP/2 on a Unix socket for the same user, and
//! on the network with a token.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router};
use http::{StatusCode, header};
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
use troupe_server::web::serve_http;
use troupe_transport::{NetProtocol, SessionAddress};

use crate::daemon::Daemon;
use crate::problem::Problem;
use crate::route_table::route_table;
use crate::router::{DaemonRouters, routers};

/// Addresses that are bound, and who may come in.
#[derive(Debug)]
pub struct DaemonListener(BoundListeners);

/// Who is let in over the network.
#[derive(Debug, Clone)]
struct NetworkDoor {
    guard: Arc<OriginGuard>,
    token: Arc<AccessToken>,
}

impl DaemonListener {
    /// Binds every address of the options: Unix sockets and HTTP.
    pub async fn bind(options: ListenOptions) -> Result<Self, ListenError> {
        let is_served = |address: &SessionAddress| {
            matches!(
                address,
                SessionAddress::Unix(_) | SessionAddress::Net(NetProtocol::Http, _)
            )
        };
        let options = options.only(is_served, "http:HOST:PORT or unix:PATH")?;
        BoundListeners::bind(options).await.map(Self)
    }

    /// Returns where clients find it, ports that the system chose included.
    pub fn urls(&self) -> Vec<String> {
        let scheme = match self.0.tls {
            Some(_) => "https",
            None => "http",
        };
        let url = |address| match address {
            SessionAddress::Net(_, place) => format!("{scheme}://{place}"),
            SessionAddress::Unix(path) => format!("unix://{}", path.display()),
            SessionAddress::Stdio => "stdio://".to_owned(),
        };
        self.0.addresses().map(url).collect()
    }

    /// Serves until `ending` says so. The sessions go on.
    pub async fn run(self, daemon: &Daemon, ending: CancellationToken) {
        let bound = self.0;
        let keepalive = bound.keepalive;
        let door = NetworkDoor {
            guard: Arc::new(bound.guard),
            // Nobody comes where nothing listens.
            token: Arc::new(bound.token.unwrap_or_else(AccessToken::random)),
        };
        let places = ConnectionPlaces::new(CONNECTIONS_MAX);
        let for_user = for_user(routers(daemon, route_table()));
        let for_network = for_network(routers(daemon, route_table()), &door);
        let mut accepting = JoinSet::new();
        for listener in bound.listeners {
            let (places, until) = (places.clone(), ending.clone());
            match listener {
                BoundListener::Stdio => {}
                BoundListener::Unix(_, socket) => {
                    let router = for_user.clone();
                    let served = move |stream, entry| {
                        let (router, until) = (router.clone(), until.clone());
                        async move { serve_http(router, stream, entry, keepalive, &until).await }
                    };
                    accepting.spawn(accept_unix(socket, places, ending.clone(), served));
                }
                BoundListener::Net(_, protocol, listener) => {
                    let tls = bound.tls.as_ref().map(|tls| tls.acceptor(offers(protocol)));
                    let router = for_network.clone();
                    let served = move |stream, entry| {
                        let (router, until) = (router.clone(), until.clone());
                        async move { serve_http(router, stream, entry, keepalive, &until).await }
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
            "a client did not read its last answer in time"
        );
    }
}

/// The other end is known to be the user.
fn for_user(routers: DaemonRouters) -> Router {
    let protected = routers.protected.layer(middleware::from_fn(admit));
    protected.merge(routers.open)
}

fn for_network(routers: DaemonRouters, door: &NetworkDoor) -> Router {
    let token = Arc::clone(&door.token);
    let protected = routers
        .protected
        .layer(middleware::from_fn_with_state(token, show_token));
    let guard = Arc::clone(&door.guard);
    // Whoever only asks whether we are there needs no token.
    protected
        .merge(routers.open)
        .layer(middleware::from_fn_with_state(guard, check_origin))
}

/// Refuses requests that a page of somebody else's may have made.
async fn check_origin(
    State(guard): State<Arc<OriginGuard>>,
    request: Request,
    next: Next,
) -> Response {
    match guard.check(request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(foreign) => {
            let problem = Problem::new(StatusCode::FORBIDDEN, "foreign", foreign.to_string());
            problem.at(request.uri().path()).into_response()
        }
    }
}

async fn show_token(
    State(token): State<Arc<AccessToken>>,
    Extension(entry): Extension<ConnectionEntry>,
    request: Request,
    next: Next,
) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION);
    let detail = match shown.map(|value| value.to_str()) {
        Some(Ok(value)) if token.is_bearer(value) => return enter(&entry, request, next).await,
        Some(_) => "the token is wrong; it is in run/serve.token of the home",
        None => "show the token: Authorization: Bearer TOKEN",
    };
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        .at(request.uri().path())
        .into_response()
}

async fn admit(
    Extension(entry): Extension<ConnectionEntry>,
    request: Request,
    next: Next,
) -> Response {
    enter(&entry, request, next).await
}

async fn enter(entry: &ConnectionEntry, request: Request, next: Next) -> Response {
    match entry.admit() {
        Ok(()) => next.run(request).await,
        Err(full) => Problem::unavailable(full.to_string())
            .at(request.uri().path())
            .into_response(),
    }
}
