//! Where the socket of a session is.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;

use troupe_protocol::SessionId;
use troupe_transport::SessionAddress;

use crate::control::socket::{SocketPath, directory};

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
    let entries = match std::fs::read_dir(directory(home)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        let Some(id) = name.strip_suffix(SUFFIX).and_then(|id| id.parse().ok()) else {
            continue;
        };
        if AttachPlace::of(home, id)?.is_live() {
            found.push(id);
        }
    }
    found.sort_unstable();
    Ok(found)
}
