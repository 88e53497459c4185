//! Addresses that are bound, and who may come in there: what every listener of ours begins
//! with, whatever is spoken over it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use troupe_transport::{Address, HostPort, Protocol};

use crate::guard::Guard;
use crate::tls::Tls;
use crate::token::Token;
use crate::unix_socket::{SocketError, UnixSocket};

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
    #[error("cannot listen on {address}")]
    Bind { address: Address, source: io::Error },
    #[error("cannot listen on unix:{path}")]
    Socket { path: String, source: SocketError },
    #[error(
        "{address} can be reached from other machines; add --allow-remote if that is what you want"
    )]
    Remote { address: Address },
    #[error(
        "{address} can be reached from other machines, and without TLS they could read the token \
         and everything else on the way; add --tls-cert and --tls-key, or listen on 127.0.0.1 \
         and come through a tunnel (ssh -L)"
    )]
    Unencrypted { address: Address },
    #[error("{address} asks for a token, and there is none")]
    NoToken { address: Address },
    #[error("{address} cannot be served here; use {instead}")]
    NotServed {
        address: Address,
        instead: &'static str,
    },
}

/// Whoever may want a server to stop.
pub trait Stop: Send {
    /// Returns when they do. Safe to cancel.
    fn wanted(&mut self) -> impl Future<Output = ()> + Send;
}

/// Addresses that are bound, and what is asked of those who come.
#[derive(Debug)]
pub(crate) struct Bound {
    pub listeners: Vec<Listener>,
    pub guard: Guard,
    /// There is one if anything listens on the network.
    pub token: Option<Token>,
    pub tls: Option<Tls>,
    pub keepalive: Duration,
}

#[derive(Debug)]
pub(crate) enum Listener {
    Stdio,
    Unix(Address, UnixSocket),
    Net(Address, Protocol, TcpListener),
}

impl Options {
    /// Refuses addresses that cannot be served. `instead` is how the others are written.
    pub(crate) fn only(
        self,
        is_served: impl Fn(&Address) -> bool,
        instead: &'static str,
    ) -> Result<Self, Error> {
        match self.listen.iter().find(|address| !is_served(address)) {
            Some(address) => Err(Error::NotServed {
                address: address.clone(),
                instead,
            }),
            None => Ok(self),
        }
    }
}

impl Bound {
    pub(crate) async fn bind(options: Options) -> Result<Self, Error> {
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
                    let secured = options.tls.is_some();
                    let (listener, local) =
                        bind_net(&place, options.reach, secured, &address).await?;
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

    /// Returns where clients find the listeners, ports that the system chose included.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = Address> {
        self.listeners.iter().map(|listener| match listener {
            Listener::Stdio => Address::Stdio,
            Listener::Unix(address, _) | Listener::Net(address, ..) => address.clone(),
        })
    }
}

/// What a client can choose when it sets TLS up.
pub(crate) fn offers(protocol: Protocol) -> &'static [&'static [u8]] {
    match protocol {
        Protocol::Tcp => &[],
        Protocol::WebSocket => &[b"http/1.1"],
        Protocol::Http => &[b"h2", b"http/1.1"],
        Protocol::Grpc => &[b"h2"],
    }
}

async fn bind_net(
    place: &HostPort,
    reach: Reach,
    secured: bool,
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
    if !local.ip().is_loopback() {
        let address = address.clone();
        match reach {
            Reach::ThisMachine => return Err(Error::Remote { address }),
            Reach::Network if !secured => return Err(Error::Unencrypted { address }),
            Reach::Network => {}
        }
    }
    Ok((listener, local))
}
