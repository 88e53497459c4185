//! Accepting connections, and what they are made of.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::limits::{
    ACCEPT_PAUSE_MS, HELLO_MS_MAX, LINGER_MS_MAX, SIGNS_MISSED_MAX, USER_SILENT_MS_MAX,
};
use crate::lobby::{ConnectionEntry, ConnectionPeer, ConnectionPlaces};
use crate::unix_socket::{UnixSocket, speaks_for_user};

/// A network connection, without TLS or with it.
pub type NetStream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// A place where connections arrive.
trait ConnectionSource: Send + Sync {
    type Stream: Send;

    /// How long one who comes here may take to show who it is, and to hear that it did not.
    const LOBBY_MS_MAX: u64;

    /// What the diagnostic log calls it.
    const NAME: &'static str;

    fn accept(&self) -> impl Future<Output = io::Result<(Self::Stream, ConnectionPeer)>> + Send;
}

/// A listener on the network, and how often its quiet clients are asked for a sign of life.
struct NetEntrance {
    listener: TcpListener,
    keepalive: Duration,
}

impl ConnectionSource for NetEntrance {
    type Stream = TcpStream;

    const LOBBY_MS_MAX: u64 = HELLO_MS_MAX + LINGER_MS_MAX;
    const NAME: &'static str = "network";

    async fn accept(&self) -> io::Result<(TcpStream, ConnectionPeer)> {
        let (stream, address) = self.listener.accept().await?;
        // Events are small and each matters now; the writer already gathers them.
        stream.set_nodelay(true)?;
        // The kernel counts in seconds.
        let pause = self.keepalive.max(Duration::from_secs(1));
        let probes = TcpKeepalive::new()
            .with_time(pause)
            .with_interval(pause)
            .with_retries(SIGNS_MISSED_MAX);
        SockRef::from(&stream).set_tcp_keepalive(&probes)?;
        Ok((stream, ConnectionPeer::at(address.ip())))
    }
}

impl ConnectionSource for UnixSocket {
    type Stream = UnixStream;

    const LOBBY_MS_MAX: u64 = USER_SILENT_MS_MAX;
    const NAME: &'static str = "unix";

    async fn accept(&self) -> io::Result<(UnixStream, ConnectionPeer)> {
        let (stream, _) = self.listener.accept().await?;
        Ok((stream, ConnectionPeer::User))
    }
}

/// Serves each connection by a task of its own, until it is told to stop; then waits for
/// those that are open. Whoever serves admits it when it has shown who it is; until then it is
/// cut off when its time is up, or when others need its place in the lobby.
pub async fn accept_net<F>(
    listener: TcpListener,
    keepalive: Duration,
    tls: Option<TlsAcceptor>,
    places: ConnectionPlaces,
    ending: CancellationToken,
    serve: impl Fn(NetStream, ConnectionEntry) -> F + Clone + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let entrance = NetEntrance {
        listener,
        keepalive,
    };
    accept_all(entrance, places, ending, move |stream, entry| {
        let (tls, serve) = (tls.clone(), serve.clone());
        async move {
            if let Some(stream) = secure(stream, tls).await {
                serve(stream, entry).await;
            }
        }
    })
    .await;
}

/// Sets TLS up, if it is asked for. A client that cannot has nobody to be told by; one that
/// does not is cut off with all who show nothing.
async fn secure(stream: TcpStream, tls: Option<TlsAcceptor>) -> Option<NetStream> {
    let Some(tls) = tls else {
        return Some(Either::Left(stream));
    };
    let accepted = tls.accept(stream).await;
    let stream = accepted
        .inspect_err(|error| tracing::debug!(%error, "TLS was not set up"))
        .ok()?;
    Some(Either::Right(Box::new(stream)))
}

/// As [`accept_net`], for processes of the same user that no sandbox holds.
pub async fn accept_unix<F>(
    socket: UnixSocket,
    places: ConnectionPlaces,
    ending: CancellationToken,
    serve: impl Fn(UnixStream, ConnectionEntry) -> F + Send,
) where
    F: Future<Output = ()> + Send + 'static,
{
    accept_all(socket, places, ending, move |stream, entry| {
        let is_heard = speaks_for_user(&stream);
        let served = serve(stream, entry);
        async move {
            if is_heard {
                served.await;
            }
        }
    })
    .await;
}

async fn accept_all<E: ConnectionSource, F>(
    entrance: E,
    places: ConnectionPlaces,
    ending: CancellationToken,
    serve: impl Fn(E::Stream, ConnectionEntry) -> F + Send,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut open = JoinSet::new();
    let mut number = 0_u64;
    while let Some(accepted) = ending.run_until_cancelled(entrance.accept()).await {
        while open.try_join_next().is_some() {}
        match accepted {
            Ok((stream, peer)) => {
                let entry = places.enter(peer, Duration::from_millis(E::LOBBY_MS_MAX));
                number += 1;
                let span = tracing::info_span!("connection", number, entrance = E::NAME);
                let served = span.in_scope(|| serve(stream, entry.clone()));
                let connection = async move {
                    tracing::info!("a client connects");
                    tokio::select! {
                        () = served => tracing::info!("the connection is over"),
                        () = entry.over() => {
                            tracing::info!("the connection is cut off: its time or its place is gone");
                        }
                    }
                };
                open.spawn(connection.instrument(span));
            }
            // One client's trouble, or too many open files: both pass.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
            }
        }
    }
    drop(entrance);
    while open.join_next().await.is_some() {}
}
