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
use troupe_transport::{HostPort, NetProtocol, SessionAddress, ToServer};

use crate::error::ClientError;
use crate::grpc::GrpcLink;
use crate::http::HttpLink;
use crate::limits::{KEEPALIVE_MS, SIGNS_MISSED_MAX};
use crate::lines::LineLink;
use crate::link::ClientLink;
use crate::ws::WsLink;
use crate::{ClientOptions, tls};

pub(crate) struct ClientConnector {
    address: SessionAddress,
    tls: Option<TlsConnector>,
}

impl std::fmt::Debug for ClientConnector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Connector({})", self.address)
    }
}

/// A byte stream to the server: on this machine, or over the network without TLS or with it.
pub(crate) type Stream = Either<UnixStream, Either<TcpStream, Box<TlsStream<TcpStream>>>>;

/// Where requests go, as HTTP writes it.
#[derive(Debug, Clone)]
pub(crate) struct HttpOrigin {
    pub secure: bool,
    pub place: HostPort,
}

impl HttpOrigin {
    /// Returns a URL of the server; `scheme` is that of an unencrypted connection.
    pub(crate) fn url(&self, scheme: &str, path: &str) -> String {
        let s = if self.secure { "s" } else { "" };
        format!("{scheme}{s}://{}{path}", self.place)
    }
}

impl ClientConnector {
    pub(crate) fn new(
        address: SessionAddress,
        options: &ClientOptions,
    ) -> Result<Self, ClientError> {
        let tls = match (&address, &options.tls) {
            (SessionAddress::Stdio, _) => return Err(ClientError::Stdio),
            (SessionAddress::Unix(_), _) | (_, None) => None,
            (SessionAddress::Net(protocol, _), Some(tls)) => {
                let protocols: &[&[u8]] = match protocol {
                    NetProtocol::Tcp => &[],
                    NetProtocol::WebSocket => &[b"http/1.1"],
                    NetProtocol::Http | NetProtocol::Grpc => &[b"h2"],
                };
                Some(tls::connector(&tls.trusted, protocols)?)
            }
        };
        Ok(Self { address, tls })
    }

    pub(crate) fn address(&self) -> &SessionAddress {
        &self.address
    }

    /// Connects and says hello. The answer is still to be read.
    pub(crate) async fn connect(&self, hello: &Hello) -> io::Result<ClientLink> {
        let (protocol, place) = match &self.address {
            SessionAddress::Stdio => return Err(io::ErrorKind::Unsupported.into()),
            SessionAddress::Unix(path) => {
                let stream = Either::Left(UnixStream::connect(path).await?);
                return send_hello(ClientLink::Lines(LineLink::new(stream)), hello).await;
            }
            SessionAddress::Net(protocol, place) => (protocol, place),
        };
        let stream = self.reach(place).await?;
        let origin = HttpOrigin {
            secure: self.tls.is_some(),
            place: place.clone(),
        };
        let link = match protocol {
            NetProtocol::Tcp => ClientLink::Lines(LineLink::new(stream)),
            NetProtocol::WebSocket => {
                ClientLink::WebSocket(Box::new(WsLink::new(stream, &origin).await?))
            }
            NetProtocol::Grpc => ClientLink::Grpc(Box::new(GrpcLink::new(stream, &origin).await?)),
            // Its hello is the request for the stream.
            NetProtocol::Http => {
                let link = HttpLink::new(stream, origin, hello).await?;
                return Ok(ClientLink::Http(Box::new(link)));
            }
        };
        send_hello(link, hello).await
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

async fn send_hello(mut link: ClientLink, hello: &Hello) -> io::Result<ClientLink> {
    let hello = ToServer::Request(ClientRequest::Hello(hello.clone()));
    link.send(&hello).await?;
    Ok(link)
}
