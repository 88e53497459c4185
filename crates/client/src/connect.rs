//! Makes connections to one address.

use std::io;
use std::time::Duration;

use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;
use troupe_protocol::link::{ClientRequest, Hello};
use troupe_transport::{Address, HostPort, Protocol, ToServer};

use crate::error::Error;
use crate::grpc::GrpcLink;
use crate::http::HttpLink;
use crate::limits::{KEEPALIVE_MS, SIGNS_MISSED_MAX};
use crate::lines::LineLink;
use crate::link::Link;
use crate::ws::WsLink;
use crate::{Options, tls};

pub(crate) struct Connector {
    address: Address,
    tls: Option<TlsConnector>,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connector({})", self.address)
    }
}

/// A byte stream to the server: on this machine, or over the network without TLS or with it.
pub(crate) type Stream = Either<UnixStream, Either<TcpStream, Box<TlsStream<TcpStream>>>>;

/// Where requests go, as HTTP writes it.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub secure: bool,
    pub place: HostPort,
}

impl Origin {
    /// Returns a URL of the server; `scheme` is that of an unencrypted connection.
    pub(crate) fn url(&self, scheme: &str, path: &str) -> String {
        let s = if self.secure { "s" } else { "" };
        format!("{scheme}{s}://{}{path}", self.place)
    }
}

impl Connector {
    pub(crate) fn new(address: Address, options: &Options) -> Result<Self, Error> {
        let tls = match (&address, &options.tls) {
            (Address::Stdio, _) => return Err(Error::Stdio),
            (Address::Unix(_), _) | (_, None) => None,
            (Address::Net(protocol, _), Some(tls)) => {
                let protocols: &[&[u8]] = match protocol {
                    Protocol::Tcp => &[],
                    Protocol::WebSocket => &[b"http/1.1"],
                    Protocol::Http | Protocol::Grpc => &[b"h2"],
                };
                Some(tls::connector(&tls.trusted, protocols)?)
            }
        };
        Ok(Self { address, tls })
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Connects and says hello. The answer is still to be read.
    pub(crate) async fn connect(&self, hello: &Hello) -> io::Result<Link> {
        let (protocol, place) = match &self.address {
            Address::Stdio => return Err(io::ErrorKind::Unsupported.into()),
            Address::Unix(path) => {
                let stream = Either::Left(UnixStream::connect(path).await?);
                return introduced(Link::Lines(LineLink::new(stream)), hello).await;
            }
            Address::Net(protocol, place) => (protocol, place),
        };
        let stream = self.reach(place).await?;
        let origin = Origin {
            secure: self.tls.is_some(),
            place: place.clone(),
        };
        let link = match protocol {
            Protocol::Tcp => Link::Lines(LineLink::new(stream)),
            Protocol::WebSocket => Link::WebSocket(Box::new(WsLink::new(stream, &origin).await?)),
            Protocol::Grpc => Link::Grpc(Box::new(GrpcLink::new(stream, &origin).await?)),
            // Its hello is the request for the stream.
            Protocol::Http => {
                let link = HttpLink::new(stream, origin, hello).await?;
                return Ok(Link::Http(Box::new(link)));
            }
        };
        introduced(link, hello).await
    }

    async fn reach(&self, place: &HostPort) -> io::Result<Stream> {
        let stream = TcpStream::connect((place.host.as_str(), place.port)).await?;
        stream.set_nodelay(true)?;
        let keepalive = Duration::from_millis(KEEPALIVE_MS);
        let probes = TcpKeepalive::new()
            .with_time(keepalive)
            .with_interval(keepalive)
            .with_retries(SIGNS_MISSED_MAX);
        SockRef::from(&stream).set_tcp_keepalive(&probes)?;
        let Some(tls) = &self.tls else {
            return Ok(Either::Right(Either::Left(stream)));
        };
        let name = ServerName::try_from(place.host.clone()).map_err(io::Error::other)?;
        let stream = tls.connect(name, stream).await?;
        Ok(Either::Right(Either::Right(Box::new(stream))))
    }
}

async fn introduced(mut link: Link, hello: &Hello) -> io::Result<Link> {
    let hello = ToServer::Request(ClientRequest::Hello(hello.clone()));
    link.send(&hello).await?;
    Ok(link)
}
