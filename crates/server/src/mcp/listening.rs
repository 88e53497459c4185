//! The protocol over HTTP: `/mcp`, for clients that know the token.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware;
use axum::response::Response;
use axum::routing::any;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use troupe_mcp::serve::{HttpServer, ServerOffer};
use troupe_protocol::discard;
use troupe_transport::{NetProtocol, SessionAddress};

use crate::connection::accept_net;
use crate::guard::OriginGuard;
use crate::limits::{CONNECTIONS_MAX, ENDING_MS_MAX};
use crate::listen::{
    BoundListener, BoundListeners, ListenError, ListenOptions, StopSignal, offers,
};
use crate::lobby::ConnectionPlaces;
use crate::token::AccessToken;
use crate::web::{check, serve_http, show_token};

/// Where clients find the protocol.
const PATH: &str = "/mcp";

/// Addresses that are bound, and who may come in.
#[derive(Debug)]
pub struct McpListener(BoundListeners);

impl McpListener {
    /// Binds every address of the options, which must be of HTTP.
    pub async fn bind(options: ListenOptions) -> Result<Self, ListenError> {
        let is_http =
            |address: &SessionAddress| matches!(address, SessionAddress::Net(NetProtocol::Http, _));
        let options = options.only(is_http, "http:HOST:PORT")?;
        BoundListeners::bind(options).await.map(Self)
    }

    /// Returns where clients find it, ports that the system chose included.
    pub fn urls(&self) -> impl Iterator<Item = String> {
        let scheme = match self.0.tls {
            Some(_) => "https",
            None => "http",
        };
        self.0.addresses().filter_map(move |address| match address {
            SessionAddress::Net(_, place) => Some(format!("{scheme}://{place}{PATH}")),
            SessionAddress::Stdio | SessionAddress::Unix(_) => None,
        })
    }

    /// Serves until somebody wants it to stop.
    pub async fn run(self, offer: Arc<dyn ServerOffer>, mut stop: impl StopSignal) {
        let ending = CancellationToken::new();
        let server = HttpServer::new(offer, ending.clone());
        let bound = self.0;
        // Nobody comes where nothing listens.
        let token = bound.token.unwrap_or_else(AccessToken::random);
        let router = router(server, token, bound.guard);
        let places = ConnectionPlaces::new(CONNECTIONS_MAX);
        let mut accepting = JoinSet::new();
        for listener in bound.listeners {
            let BoundListener::Net(_, protocol, listener) = listener else {
                continue;
            };
            let tls = bound.tls.as_ref().map(|tls| tls.acceptor(offers(protocol)));
            let (router, until) = (router.clone(), ending.clone());
            let keepalive = bound.keepalive;
            let accepted = accept_net(
                listener,
                keepalive,
                tls,
                places.clone(),
                ending.clone(),
                move |stream, entry| {
                    let (router, until) = (router.clone(), until.clone());
                    async move { serve_http(router, stream, entry, keepalive, &until).await }
                },
            );
            accepting.spawn(accepted);
        }
        stop.wanted().await;
        ending.cancel();
        let all = pin!(async { while accepting.join_next().await.is_some() {} });
        // Who does not read the last word in time does not get it.
        discard!(
            timeout(Duration::from_millis(ENDING_MS_MAX), all).await,
            "a client did not read its last messages in time"
        );
    }
}

fn router(server: HttpServer, token: AccessToken, guard: OriginGuard) -> Router {
    Router::new()
        .route(PATH, any(serve))
        .with_state(server)
        .layer(middleware::from_fn_with_state(Arc::new(token), show_token))
        .layer(middleware::from_fn_with_state(Arc::new(guard), check))
}

async fn serve(State(server): State<HttpServer>, request: Request) -> Response {
    server.handle(request).await.map(Body::new)
}
