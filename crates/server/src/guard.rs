//! Which pages of a browser may reach a listener.
//!
//! A token keeps other users out. It does not keep a page from using a browser that knows it,
//! nor a name server from making a page's own host name mean this machine. So a request must
//! be addressed to a name that we go by, and if it comes from a page, from one of ours.

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, Uri};
use troupe_transport::HostPort;

/// The names that always mean this machine.
const LOCAL_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

#[derive(Debug, Clone, Default)]
pub struct OriginGuard {
    /// Hosts, without ports, that a request may be addressed to.
    pub hosts: Vec<String>,
    /// Origins, such as `https://example.org`, whose pages may come.
    pub origins: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForeignRequest {
    #[error("the request is addressed to no host; send a Host header")]
    NoHost,
    #[error("host {host:?} is not a name of this server; allow it with --allow-host")]
    Host { host: String },
    #[error("origin {origin:?} is not allowed; allow it with --allow-origin")]
    Origin { origin: String },
}

impl OriginGuard {
    /// Looks at who a request is addressed to, and where it comes from.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ForeignRequest> {
        let header = |name| headers.get(name).map(|value| value.to_str());
        let authority = match (uri.authority(), header(HOST)) {
            (Some(authority), _) => authority.as_str(),
            (None, Some(Ok(host))) => host,
            (None, Some(Err(_)) | None) => return Err(ForeignRequest::NoHost),
        };
        let host = host_of(authority);
        let known = LOCAL_NAMES.contains(&host.as_str()) || self.hosts.contains(&host);
        if !known {
            return Err(ForeignRequest::Host { host });
        }
        match header(ORIGIN) {
            None => Ok(()),
            Some(Ok(origin)) if self.is_ours(origin, authority) => Ok(()),
            Some(Ok(origin)) => Err(ForeignRequest::Origin {
                origin: origin.to_owned(),
            }),
            Some(Err(_)) => Err(ForeignRequest::Origin {
                origin: "(not readable)".to_owned(),
            }),
        }
    }

    /// A page that came from this very server, or one that the user named.
    fn is_ours(&self, origin: &str, authority: &str) -> bool {
        let same = origin
            .split_once("://")
            .is_some_and(|(_, place)| place.eq_ignore_ascii_case(authority));
        same || self.origins.iter().any(|allowed| allowed == origin)
    }
}

/// Returns the host of `host:port`, `[host]:port` or `host`, in lower case.
fn host_of(authority: &str) -> String {
    let host = match authority.parse::<HostPort>() {
        Ok(place) => place.host,
        Err(_) => authority
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned(),
    };
    host.to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
