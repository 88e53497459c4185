//! An HTTP/2 connection of our own making, for the protocols that are built on it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio_util::task::AbortOnDropHandle;
use tower_service::Service;
use troupe_protocol::discard;

use crate::connect::Stream;
use crate::limits::{KEEPALIVE_MS, SIGNS_MISSED_MAX};

/// A connection over which requests with bodies of the type `B` are sent.
#[derive(Debug)]
pub(crate) struct Http2Connection<B> {
    sender: SendRequest<B>,
    _connection: AbortOnDropHandle<()>,
}

impl<B> Http2Connection<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    pub(crate) async fn new(stream: Stream) -> io::Result<Self> {
        let keepalive = Duration::from_millis(KEEPALIVE_MS);
        let (sender, connection) = Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(keepalive)
            .keep_alive_timeout(keepalive * SIGNS_MISSED_MAX)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        let connection = tokio::spawn(async move {
            // Its failure is that of the request that meets it.
            discard!(connection.await, "a connection ended by an error");
        });
        Ok(Self {
            sender,
            _connection: AbortOnDropHandle::new(connection),
        })
    }

    pub(crate) async fn request(&mut self, request: Request<B>) -> io::Result<Response<Incoming>> {
        let response = self.sender.send_request(request).await;
        response.map_err(io::Error::other)
    }
}

impl<B> Service<Request<B>> for Http2Connection<B>
where
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.sender.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Box::pin(self.sender.send_request(request))
    }
}
