//! Accepting connections, within a bound, and what they are made of.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use crate::limits::{ACCEPT_PAUSE_MS, HELLO_MS_MAX, SIGNS_MISSED_MAX};
use crate::unix_socket::{UnixSocket, is_own_user};

/// The places for connections of one server.
#[derive(Debug, Clone)]
pub(crate) struct Places(Arc<Semaphore>);

impl Places {
    pub(crate) fn new(count: usize) -> Self {
        Self(Arc::new(Semaphore::new(count)))
    }

    async fn take(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}

/// A network connection, without TLS or with it.
pub(crate) type NetStream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// A place where connections arrive.
trait Entrance: Send + Sync {
    type Stream: Send;

    fn accept(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

/// A listener on the network, and how often its quiet clients are asked for a sign of life.
struct NetEntrance {
    listener: TcpListener,
    keepalive: Duration,
}

impl Entrance for NetEntrance {
    type Stream = TcpStream;

    async fn accept(&self) -> io::Result<TcpStream> {
        let (stream, _) = self.listener.accept().await?;
        // Events are small and each matters now; the writer already gathers them.
        stream.set_nodelay(true)?;
        // The kernel counts in seconds.
        let pause = self.keepalive.max(Duration::from_secs(1));
        let probes = TcpKeepalive::new()
            .with_time(pause)
            .with_interval(pause)
            .with_retries(SIGNS_MISSED_MAX);
        SockRef::from(&stream).set_tcp_keepalive(&probes)?;
        Ok(stream)
    }
}

impl Entrance for UnixSocket {
    type Stream = UnixStream;

    async fn accept(&self) -> io::Result<UnixStream> {
        let (stream, _) = self.listener.accept().await?;
        Ok(stream)
    }
}

/// Serves each connection by a task of its own, until it is told to stop; then waits for
/// those that are open.
pub(crate) async fn accept_net<F>(
    listener: TcpListener,
    keepalive: Duration,
    tls: Option<TlsAcceptor>,
    places: Places,
    ending: CancellationToken,
    serve: impl Fn(NetStream) -> F + Clone + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let entrance = NetEntrance {
        listener,
        keepalive,
    };
    accept_all(entrance, places, ending, move |stream| {
        let (tls, serve) = (tls.clone(), serve.clone());
        async move {
            if let Some(stream) = secure(stream, tls).await {
                serve(stream).await;
            }
        }
    })
    .await;
}

/// Sets TLS up, if it is asked for. A client that cannot has nobody to be told by.
async fn secure(stream: TcpStream, tls: Option<TlsAcceptor>) -> Option<NetStream> {
    let Some(tls) = tls else {
        return Some(Either::Left(stream));
    };
    let time = Duration::from_millis(HELLO_MS_MAX);
    let stream = timeout(time, tls.accept(stream)).await.ok()?.ok()?;
    Some(Either::Right(Box::new(stream)))
}

/// As [`accept_net`], for processes of the same user.
pub(crate) async fn accept_unix<F>(
    socket: UnixSocket,
    places: Places,
    ending: CancellationToken,
    serve: impl Fn(UnixStream) -> F + Send,
) where
    F: Future<Output = ()> + Send + 'static,
{
    accept_all(socket, places, ending, move |stream| {
        let own = is_own_user(&stream);
        let served = serve(stream);
        async move {
            if own {
                served.await;
            }
        }
    })
    .await;
}

async fn accept_all<E: Entrance, F>(
    entrance: E,
    places: Places,
    ending: CancellationToken,
    serve: impl Fn(E::Stream) -> F + Send,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut open = JoinSet::new();
    while let Some(Some(place)) = ending.run_until_cancelled(places.take()).await {
        let Some(accepted) = ending.run_until_cancelled(entrance.accept()).await else {
            break;
        };
        while open.try_join_next().is_some() {}
        match accepted {
            Ok(stream) => {
                let served = serve(stream);
                open.spawn(async move {
                    served.await;
                    drop(place);
                });
            }
            // One client's trouble, or too many open files: both pass.
            Err(_) => sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await,
        }
    }
    drop(entrance);
    while open.join_next().await.is_some() {}
}
