//! The queue pair itself, for many clients at a time.
//!
//! ```text
//!  unix, tcp ─ lines ──┐                        ┌─ hub ── who drives ─► SessionHandle
//!  ws ─ messages ──────┤   converse (one task   │
//!  http ─ POST, SSE ───┼─► per client): hello, ─┤
//!  grpc ─ stream ──────┘   submissions, events  └─ EventSource: each reads at its own pace
//! ```
//!
//! Every transport carries the same messages ([`troupe_protocol::link`]); its file turns its
//! frames into them and back. The rest is the same for all and lies in `converse`.

mod converse;
mod grpc;
mod http;
mod hub;
mod lines;
mod pace;
mod receipts;
mod seats;
pub(crate) mod web;
mod ws;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use troupe_engine::{EventStream, SessionHandle};
use troupe_transport::{Address, HostPort, Protocol};

use crate::connection::{Places, accept_net, accept_unix};
use crate::guard::Guard;
use crate::limits::{CONNECTIONS_MAX, ENDING_MS_MAX};
use crate::tls::Tls;
use crate::token::Token;
use crate::unix_socket::{SocketError, UnixSocket};
use converse::Door;
use hub::Hub;

/// Where to listen, and who may come in.
#[derive(Debug, Clone)]
pub struct Options {
    pub listen: Vec<Address>,
    /// Required of all who come over the network.
    pub token: Option<Token>,
    pub reach: Reach,
    /// Names beside the usual ones that this machine goes by.
    pub hosts: Vec<String>,
    /// Origins whose pages may come.
    pub origins: Vec<String>,
    pub tls: Option<Tls>,
    /// How often network clients are asked for a sign of life.
    pub keepalive: Duration,
}

/// How far away clients may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    ThisMachine,
    Network,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot listen on {address}: {source}")]
    Bind { address: Address, source: io::Error },
    #[error("cannot listen on unix:{path}: {source}")]
    Socket { path: String, source: SocketError },
    #[error(
        "{address} can be reached from other machines; add --allow-remote if that is what you want"
    )]
    Remote { address: Address },
    #[error("{address} asks for a token, and there is none")]
    NoToken { address: Address },
    #[error("{address} cannot be served here; use http:HOST:PORT")]
    NotHttp { address: Address },
}

/// A server that has its addresses and waits for its session.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<Listener>,
    guard: Guard,
    tls: Option<Tls>,
    token: Option<Token>,
    keepalive: Duration,
}

#[derive(Debug)]
enum Listener {
    Stdio,
    Unix(Address, UnixSocket),
    Net(Address, Protocol, TcpListener),
}

/// Whoever may want a server to stop.
pub trait Stop: Send {
    /// Returns when they do. Safe to cancel.
    fn wanted(&mut self) -> impl Future<Output = ()> + Send;
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The session ended, and everybody heard it.
    Orderly,
    /// Somebody did not want to wait.
    Hurried,
}

impl Server {
    pub async fn bind(options: Options) -> Result<Self, Error> {
        let mut listeners = Vec::new();
        let mut guard = Guard {
            hosts: options
                .hosts
                .iter()
                .map(|host| host.to_ascii_lowercase())
                .collect(),
            origins: options.origins,
        };
        for address in options.listen {
            listeners.push(match address {
                Address::Stdio => Listener::Stdio,
                Address::Unix(path) => {
                    let socket = UnixSocket::bind(&path).map_err(|source| Error::Socket {
                        path: path.display().to_string(),
                        source,
                    })?;
                    Listener::Unix(Address::Unix(path), socket)
                }
                Address::Net(protocol, place) => {
                    let address = Address::Net(protocol, place.clone());
                    if options.token.is_none() {
                        return Err(Error::NoToken { address });
                    }
                    let (listener, local) = bind_net(&place, options.reach, &address).await?;
                    guard.hosts.push(place.host.to_ascii_lowercase());
                    let place = HostPort {
                        port: local.port(),
                        ..place
                    };
                    Listener::Net(Address::Net(protocol, place), protocol, listener)
                }
            });
        }
        Ok(Self {
            listeners,
            guard,
            tls: options.tls,
            token: options.token,
            keepalive: options.keepalive,
        })
    }

    /// Returns where clients find the server, ports that the system chose included.
    pub fn addresses(&self) -> impl Iterator<Item = Address> {
        self.listeners.iter().map(|listener| match listener {
            Listener::Stdio => Address::Stdio,
            Listener::Unix(address, _) | Listener::Net(address, ..) => address.clone(),
        })
    }

    /// Serves a session until it has ended. The first time that somebody wants it to stop, the
    /// session is asked to end; the second time nothing is waited for.
    pub async fn run(self, handle: SessionHandle, events: EventStream, mut stop: impl Stop) -> End {
        let source = Arc::new(events.into_source());
        let (hub, working) = Hub::new(handle, Arc::clone(&source), self.keepalive);
        let ending = CancellationToken::new();
        let mut tasks = JoinSet::new();
        let hub_task = tasks.spawn(working);
        let mut accepting = self.accept(&hub, &ending);

        let mut ended = pin!(source.ended());
        tokio::select! {
            () = &mut ended => (),
            () = stop.wanted() => {
                hub.shut_down();
                tokio::select! {
                    () = &mut ended => (),
                    () = stop.wanted() => return End::Hurried,
                }
            }
        }
        ending.cancel();
        let all = async { while accepting.join_next().await.is_some() {} };
        // Who does not read the last word in time does not get it.
        timeout(Duration::from_millis(ENDING_MS_MAX), all)
            .await
            .ok();
        hub_task.abort();
        End::Orderly
    }

    /// Starts to listen everywhere. Dropping the set ends all connections.
    fn accept(self, hub: &Hub, ending: &CancellationToken) -> JoinSet<()> {
        let mut accepting = JoinSet::new();
        let places = Places::new(CONNECTIONS_MAX);
        let guard = Arc::new(self.guard);
        for listener in self.listeners {
            let (hub, ending, places) = (hub.clone(), ending.clone(), places.clone());
            match listener {
                Listener::Stdio => {
                    accepting.spawn(async move {
                        let (read, write) = (tokio::io::stdin(), tokio::io::stdout());
                        lines::serve(&hub, &Door::Open, read, write).await;
                    });
                }
                Listener::Unix(_, socket) => {
                    accepting.spawn(accept_unix(socket, places, ending, move |stream| {
                        let hub = hub.clone();
                        async move {
                            let (read, write) = stream.into_split();
                            lines::serve(&hub, &Door::Open, read, write).await;
                        }
                    }));
                }
                Listener::Net(_, protocol, listener) => {
                    let door = self.token.clone().map_or(Door::Open, Door::Locked);
                    let tls = self.tls.as_ref().map(|tls| tls.acceptor(offers(protocol)));
                    let host = web::Host {
                        hub,
                        door,
                        guard: Arc::clone(&guard),
                        ending: ending.clone(),
                    };
                    let served = move |stream| web::serve(host.clone(), protocol, stream);
                    let keepalive = self.keepalive;
                    accepting.spawn(accept_net(listener, keepalive, tls, places, ending, served));
                }
            }
        }
        accepting
    }
}

/// What a client can choose when it sets TLS up.
fn offers(protocol: Protocol) -> &'static [&'static [u8]] {
    match protocol {
        Protocol::Tcp => &[],
        Protocol::WebSocket => &[b"http/1.1"],
        Protocol::Http => &[b"h2", b"http/1.1"],
        Protocol::Grpc => &[b"h2"],
    }
}

pub(crate) async fn bind_net(
    place: &HostPort,
    reach: Reach,
    address: &Address,
) -> Result<(TcpListener, SocketAddr), Error> {
    let failed = |source| Error::Bind {
        address: address.clone(),
        source,
    };
    let listener = TcpListener::bind((place.host.as_str(), place.port))
        .await
        .map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    if !local.ip().is_loopback() && reach == Reach::ThisMachine {
        return Err(Error::Remote {
            address: address.clone(),
        });
    }
    Ok((listener, local))
}
