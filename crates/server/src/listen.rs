//! Addresses that are bound, and who may come in there: what every listener of ours begins
//! with, whatever is spoken over it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::TcpListener;
use troupe_transport::{HostPort, NetProtocol, SessionAddress};

use crate::guard::OriginGuard;
use crate::tls::TlsIdentity;
use crate::token::AccessToken;
use crate::unix_socket::{SocketError, UnixSocket};

/// Where to listen, and who may come in.
#[derive(Debug, Clone)]
pub struct ListenOptions {
    pub listen: Vec<SessionAddress>,
    /// Required of all who come over the network.
    pub token: Option<AccessToken>,
    pub reach: ListenReach,
    /// Names beside the usual ones that this machine goes by.
    pub hosts: Vec<String>,
    /// Origins whose pages may come.
    pub origins: Vec<String>,
    pub tls: Option<TlsIdentity>,
    /// How often network clients are asked for a sign of life.
    pub keepalive: Duration,
}

/// How far away clients may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenReach {
    ThisMachine,
    Network,
}

#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("cannot listen on {address}")]
    Bind {
        address: SessionAddress,
        source: io::Error,
    },
    #[error("cannot listen on unix:{path}")]
    Socket { path: String, source: SocketError },
    #[error(
        "{address} can be reached from other machines; add --allow-remote if that is what you want"
    )]
    Remote { address: SessionAddress },
    #[error(
        "{address} can be reached from other machines, and without TLS they could read the token \
         and everything else on the way; add --tls-cert and --tls-key, or listen on 127.0.0.1 \
         and come through a tunnel (ssh -L)"
    )]
    Unencrypted { address: SessionAddress },
    #[error("{address} asks for a token, and there is none")]
    NoToken { address: SessionAddress },
    #[error("{address} cannot be served here; use {instead}")]
    NotServed {
        address: SessionAddress,
        instead: &'static str,
    },
}

/// Whoever may want a server to stop.
pub trait StopSignal: Send {
    /// Returns when they do. Safe to cancel.
    fn wanted(&mut self) -> impl Future<Output = ()> + Send;
}

/// Addresses that are bound, and what is asked of those who come.
#[derive(Debug)]
pub struct BoundListeners {
    pub listeners: Vec<BoundListener>,
    pub guard: OriginGuard,
    /// There is one if anything listens on the network.
    pub token: Option<AccessToken>,
    pub tls: Option<TlsIdentity>,
    pub keepalive: Duration,
}

#[derive(Debug)]
pub enum BoundListener {
    Stdio,
    Unix(SessionAddress, UnixSocket),
    Net(SessionAddress, NetProtocol, TcpListener),
}

impl ListenOptions {
    /// Refuses addresses that cannot be served. `instead` is how the others are written.
    pub fn only(
        self,
        is_served: impl Fn(&SessionAddress) -> bool,
        instead: &'static str,
    ) -> Result<Self, ListenError> {
        match self.listen.iter().find(|address| !is_served(address)) {
            Some(address) => Err(ListenError::NotServed {
                address: address.clone(),
                instead,
            }),
            None => Ok(self),
        }
    }
}

impl BoundListeners {
    pub async fn bind(options: ListenOptions) -> Result<Self, ListenError> {
        let mut listeners = Vec::new();
        let mut guard = OriginGuard {
            hosts: options
                .hosts
                .iter()
                .map(|host| host.to_ascii_lowercase())
                .collect(),
            origins: options.origins,
        };
        for address in options.listen {
            listeners.push(match address {
                SessionAddress::Stdio => BoundListener::Stdio,
                SessionAddress::Unix(path) => {
                    let socket = UnixSocket::bind(&path).map_err(|source| ListenError::Socket {
                        path: path.display().to_string(),
                        source,
                    })?;
                    BoundListener::Unix(SessionAddress::Unix(path), socket)
                }
                SessionAddress::Net(protocol, place) => {
                    let address = SessionAddress::Net(protocol, place.clone());
                    if options.token.is_none() {
                        return Err(ListenError::NoToken { address });
                    }
                    let secured = options.tls.is_some();
                    let (listener, local) =
                        bind_net(&place, options.reach, secured, &address).await?;
                    guard.hosts.push(place.host.to_ascii_lowercase());
                    let place = HostPort {
                        port: local.port(),
                        ..place
                    };
                    BoundListener::Net(SessionAddress::Net(protocol, place), protocol, listener)
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
    pub fn addresses(&self) -> impl Iterator<Item = SessionAddress> {
        self.listeners.iter().map(|listener| match listener {
            BoundListener::Stdio => SessionAddress::Stdio,
            BoundListener::Unix(address, _) | BoundListener::Net(address, ..) => address.clone(),
        })
    }
}

/// What a client can choose when it sets TLS up.
pub fn offers(protocol: NetProtocol) -> &'static [&'static [u8]] {
    match protocol {
        NetProtocol::Tcp => &[],
        NetProtocol::WebSocket => &[b"http/1.1"],
        NetProtocol::Http => &[b"h2", b"http/1.1"],
        NetProtocol::Grpc => &[b"h2"],
    }
}

async fn bind_net(
    place: &HostPort,
    reach: ListenReach,
    secured: bool,
    address: &SessionAddress,
) -> Result<(TcpListener, SocketAddr), ListenError> {
    let failed = |source| ListenError::Bind {
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
            ListenReach::ThisMachine => return Err(ListenError::Remote { address }),
            ListenReach::Network if !secured => return Err(ListenError::Unencrypted { address }),
            ListenReach::Network => {}
        }
    }
    Ok((listener, local))
}
