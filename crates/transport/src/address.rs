//! Where a session can be reached, as people write it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// `stdio`, `unix:PATH`, `tcp:HOST:PORT`, `ws:HOST:PORT`, `http:HOST:PORT` or `grpc:HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionAddress {
    Stdio,
    Unix(PathBuf),
    Net(NetProtocol, HostPort),
}

/// What is spoken over a network connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetProtocol {
    /// Lines of JSON.
    Tcp,
    WebSocket,
    /// Submissions by `POST`, events as server-sent events.
    Http,
    Grpc,
}

impl NetProtocol {
    pub const ALL: [Self; 4] = [Self::Tcp, Self::WebSocket, Self::Http, Self::Grpc];

    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::WebSocket => "ws",
            Self::Http => "http",
            Self::Grpc => "grpc",
        }
    }
}

/// A host, by name or number, and a port. Numbers of version 6 stand in brackets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// Without brackets.
    pub host: String,
    pub port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("address {text:?} {problem}; write {FORMS}")]
pub struct SessionAddressError {
    text: String,
    problem: &'static str,
}

const FORMS: &str =
    "stdio, unix:PATH, tcp:HOST:PORT, ws:HOST:PORT, http:HOST:PORT or grpc:HOST:PORT";

impl FromStr for SessionAddress {
    type Err = SessionAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |problem| SessionAddressError {
            text: text.to_owned(),
            problem,
        };
        if text == "stdio" {
            return Ok(Self::Stdio);
        }
        let (scheme, rest) = text.split_once(':').ok_or_else(|| wrong("has no kind"))?;
        // `ws://host:port` is what people paste.
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        if scheme == "unix" {
            return match rest {
                "" => Err(wrong("has no path")),
                path => Ok(Self::Unix(path.into())),
            };
        }
        let protocol = NetProtocol::ALL
            .into_iter()
            .find(|protocol| protocol.name() == scheme)
            .ok_or_else(|| wrong("is of no known kind"))?;
        let place = rest.strip_suffix('/').unwrap_or(rest).parse();
        Ok(Self::Net(protocol, place.map_err(wrong)?))
    }
}

impl FromStr for HostPort {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (host, port) = text.rsplit_once(':').ok_or("has no port")?;
        let port = port.parse().map_err(|_| "has no valid port")?;
        let host = match host.strip_prefix('[') {
            Some(inner) => inner.strip_suffix(']').ok_or("has an open bracket")?,
            None if host.contains(':') => return Err("has a host with colons without brackets"),
            None => host,
        };
        if host.is_empty() {
            return Err("has no host");
        }
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

impl fmt::Display for SessionAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio => f.write_str("stdio"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Net(protocol, place) => write!(f, "{}:{place}", protocol.name()),
        }
    }
}

#[cfg(test)]
mod tests;
