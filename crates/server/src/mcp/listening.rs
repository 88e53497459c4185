//! The protocol over HTTP: `/mcp`, for clients that know the token.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use http::{StatusCode, header};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use troupe_mcp::serve::{HttpServer, Offer};
use troupe_transport::{Address, HostPort, Protocol};

use crate::connection::{Places, accept_net};
use crate::guard::Guard;
use crate::limits::{CONNECTIONS_MAX, ENDING_MS_MAX};
use crate::proto::web::{check, serve_http};
use crate::proto::{Error, Options, Stop, bind_net};
use crate::tls::Tls;
use crate::token::Token;

/// Where clients find the protocol.
const PATH: &str = "/mcp";

/// Addresses that are bound, and who may come in.
#[derive(Debug)]
pub struct McpListener {
    listeners: Vec<(HostPort, TcpListener)>,
    guard: Guard,
    token: Token,
    tls: Option<Tls>,
    /// How often clients are asked for a sign of life.
    keepalive: Duration,
}

impl McpListener {
    /// Binds every address of the options, which must be of HTTP.
    pub async fn bind(options: Options) -> Result<Self, Error> {
        let mut guard = Guard {
            hosts: options
                .hosts
                .iter()
                .map(|host| host.to_ascii_lowercase())
                .collect(),
            origins: options.origins,
        };
        let mut token = options.token;
        let mut listeners = Vec::new();
        for address in options.listen {
            let Address::Net(Protocol::Http, place) = &address else {
                return Err(Error::NotHttp { address });
            };
            token = match token {
                Some(token) => Some(token),
                None => return Err(Error::NoToken { address }),
            };
            let (listener, local) = bind_net(place, options.reach, &address).await?;
            guard.hosts.push(place.host.to_ascii_lowercase());
            let place = HostPort {
                port: local.port(),
                ..place.clone()
            };
            listeners.push((place, listener));
        }
        Ok(Self {
            listeners,
            guard,
            // Nobody comes where nothing listens.
            token: token.unwrap_or_else(Token::random),
            tls: options.tls,
            keepalive: options.keepalive,
        })
    }

    /// Returns where clients find it, ports that the system chose included.
    pub fn urls(&self) -> impl Iterator<Item = String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        self.listeners
            .iter()
            .map(move |(place, _)| format!("{scheme}://{place}{PATH}"))
    }

    /// Serves until somebody wants it to stop.
    pub async fn run(self, offer: Arc<dyn Offer>, mut stop: impl Stop) {
        let ending = CancellationToken::new();
        let server = HttpServer::new(offer, ending.clone());
        let router = router(server, self.token, self.guard);
        let places = Places::new(CONNECTIONS_MAX);
        let mut accepting = JoinSet::new();
        for (_, listener) in self.listeners {
            let tls = self
                .tls
                .as_ref()
                .map(|tls| tls.acceptor(&[b"h2", b"http/1.1"]));
            let (router, until) = (router.clone(), ending.clone());
            let keepalive = self.keepalive;
            let accepted = accept_net(
                listener,
                keepalive,
                tls,
                places.clone(),
                ending.clone(),
                move |stream| {
                    let (router, until) = (router.clone(), until.clone());
                    async move { serve_http(router, stream, keepalive, &until).await }
                },
            );
            accepting.spawn(accepted);
        }
        stop.wanted().await;
        ending.cancel();
        let all = pin!(async { while accepting.join_next().await.is_some() {} });
        // Who does not read the last word in time does not get it.
        timeout(Duration::from_millis(ENDING_MS_MAX), all)
            .await
            .ok();
    }
}

fn router(server: HttpServer, token: Token, guard: Guard) -> Router {
    Router::new()
        .route(PATH, any(serve))
        .with_state(server)
        .layer(middleware::from_fn_with_state(Arc::new(token), show_token))
        .layer(middleware::from_fn_with_state(Arc::new(guard), check))
}

async fn serve(State(server): State<HttpServer>, request: Request) -> Response {
    server.handle(request).await.map(Body::new)
}

/// Refuses who does not show the token.
async fn show_token(State(token): State<Arc<Token>>, request: Request, next: Next) -> Response {
    let shown = request.headers().get(header::AUTHORIZATION);
    let message = match shown.map(|value| value.to_str()) {
        Some(Ok(value)) if token.is_bearer(value) => return next.run(request).await,
        Some(_) => "the token is wrong\n",
        None => "show the token: Authorization: Bearer TOKEN\n",
    };
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
    (StatusCode::UNAUTHORIZED, challenge, message).into_response()
}
