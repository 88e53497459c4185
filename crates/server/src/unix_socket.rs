//! A socket as a file: it replaces nothing that is alive, it is the user's alone, and it does
//! not outlive its owner.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};
use troupe_protocol::discard;

use crate::limits::SOCKET_PATH_BYTES_MAX;

const SOCKET_MODE: u32 = 0o600;

/// A listening socket. Dropping it removes the file.
#[derive(Debug)]
pub struct UnixSocket {
    pub listener: UnixListener,
    path: PathBuf,
    /// Tells our file from one that somebody put in its place.
    identity: (u64, u64),
}

#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("somebody listens there; choose another path, or stop them")]
    InUse,
    #[error("something that is not a socket is there; choose another path")]
    NotASocket,
    #[error("the path is longer than the {SOCKET_PATH_BYTES_MAX} bytes that the kernel takes")]
    TooLong,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl UnixSocket {
    pub(crate) fn bind(path: &Path) -> Result<Self, SocketError> {
        if path.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
            return Err(SocketError::TooLong);
        }
        remove_stale(path)?;
        let listener = UnixListener::bind(path).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => SocketError::InUse,
            _ => error.into(),
        })?;
        // Who connects before this is asked for their user all the same.
        fs::set_permissions(path, Permissions::from_mode(SOCKET_MODE))?;
        Ok(Self {
            identity: identity(path)?,
            path: path.to_owned(),
            listener,
        })
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|there| there == self.identity) {
            // What stays refuses connections, and is replaced by the next server.
            discard!(
                fs::remove_file(&self.path),
                error,
                "a file that is not needed any more was not removed"
            );
        }
    }
}

/// Removes the file of a process that died. It refuses connections, which a living one's
/// does not.
fn remove_stale(path: &Path) -> Result<(), SocketError> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata?,
    };
    if !metadata.file_type().is_socket() {
        return Err(SocketError::NotASocket);
    }
    match BlockingStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Ok(fs::remove_file(path)?)
        }
        Ok(_) => Err(SocketError::InUse),
        Err(error) => Err(error.into()),
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Tells whether the other end may speak for the user of this process, as the kernel knows it.
pub(crate) fn speaks_for_user(stream: &UnixStream) -> bool {
    // SAFETY: the call has no arguments and cannot fail.
    let own = unsafe { libc::geteuid() };
    troupe_process::check_peer(stream, own).is_ok()
}

#[cfg(test)]
mod tests;
