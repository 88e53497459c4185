//! Streamable HTTP: one address, a session per client, answers as streams of events.

use std::convert::Infallible;
use std::fmt::{self, Display};
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::ServerOffer;
use super::handler::OfferHandler;
use crate::limits::{HTTP_CLIENT_IDLE_TIME, HTTP_CLIENTS_MAX, MESSAGE_BYTES_MAX};

/// Serves requests that somebody else has accepted and let in. Cheap to clone.
#[derive(Clone)]
pub struct HttpServer(StreamableHttpService<OfferHandler, LocalSessionManager>);

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpServer")
    }
}

impl HttpServer {
    /// Serves until `ending`, which ends the sessions of all clients.
    pub fn new(offer: Arc<dyn ServerOffer>, ending: CancellationToken) -> Self {
        let places = Arc::new(Semaphore::new(HTTP_CLIENTS_MAX));
        let handler = move || {
            let place = Arc::clone(&places).try_acquire_owned();
            let place = place.map_err(|_| {
                io::Error::other(format!("{HTTP_CLIENTS_MAX} clients have sessions already"))
            })?;
            Ok(OfferHandler::in_place(Arc::clone(&offer), place))
        };
        let mut sessions = LocalSessionManager::default();
        sessions.session_config = SessionConfig::default();
        sessions.session_config.keep_alive = Some(HTTP_CLIENT_IDLE_TIME);
        // Whoever let the request in has looked at `Host` and `Origin`.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(MESSAGE_BYTES_MAX)
            .with_cancellation_token(ending);
        Self(StreamableHttpService::new(
            handler,
            Arc::new(sessions),
            config,
        ))
    }

    pub async fn handle<B>(
        &self,
        request: Request<B>,
    ) -> Response<impl Body<Data = Bytes, Error = Infallible> + Send + use<B>>
    where
        B: Body + Send + 'static,
        B::Error: Display,
    {
        self.0.handle(request).await
    }
}
