//! Where the socket of a session is.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;

use troupe_protocol::SessionId;
use troupe_transport::SessionAddress;

use crate::control::socket::{SocketPath, directory, sockets};

const SUFFIX: &str = ".attach";

/// The place of one session's socket. The address holds as long as this is kept.
#[derive(Debug)]
pub struct AttachPlace(SocketPath);

impl AttachPlace {
    pub fn of(home: &Path, session: SessionId) -> io::Result<Self> {
        let name = format!("{session}{SUFFIX}");
        SocketPath::to_name(&directory(home), &name).map(Self)
    }

    pub fn address(&self) -> SessionAddress {
        SessionAddress::Unix(self.0.path.clone())
    }

    /// Tells whether somebody listens there.
    pub fn is_live(&self) -> bool {
        UnixStream::connect(&self.0.path).is_ok()
    }
}

/// Returns the sessions of this home that somebody runs and others can attach to.
pub fn attachable(home: &Path) -> io::Result<Vec<SessionId>> {
    let mut found = Vec::new();
    for id in sockets(home, SUFFIX)? {
        if AttachPlace::of(home, id)?.is_live() {
            found.push(id);
        }
    }
    Ok(found)
}
