//! The socket as a file: where it is, whose it is, and that it does not outlive its owner.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};
use troupe_protocol::SessionId;
use troupe_protocol::discard;

use crate::limits::SOCKET_PATH_BYTES_MAX;

const DIRECTORY_MODE: u32 = 0o700;
const SOCKET_MODE: u32 = 0o600;

/// Where processes of this home listen.
pub fn directory(home: &Path) -> PathBuf {
    home.join("run")
}

const SUFFIX: &str = ".sock";

fn name(root: SessionId) -> String {
    format!("{root}{SUFFIX}")
}

/// Returns the sessions of this home at whose sockets some process listens or has listened.
pub fn bound(home: &Path) -> io::Result<Vec<SessionId>> {
    sockets(home, SUFFIX)
}

/// Returns the sessions that have a socket with this ending in its name.
pub fn sockets(home: &Path, suffix: &str) -> io::Result<Vec<SessionId>> {
    let entries = match fs::read_dir(directory(home)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        found.extend(
            name.strip_suffix(suffix)
                .and_then(|id| id.parse::<SessionId>().ok()),
        );
    }
    found.sort_unstable();
    Ok(found)
}

/// A listening socket. Dropping it removes the file.
#[derive(Debug)]
pub struct ControlSocket {
    pub listener: UnixListener,
    path: PathBuf,
    /// Tells our file from one that a later owner of the session put in its place.
    identity: (u64, u64),
}

impl ControlSocket {
    /// Listens for a session whose lease this process holds. Whatever has the name is
    /// therefore left over.
    pub fn bind(home: &Path, root: SessionId) -> io::Result<Self> {
        let directory = directory(home);
        match DirBuilder::new().mode(DIRECTORY_MODE).create(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            // It may have been made by other hands; nobody else has any business in it.
            _ => fs::set_permissions(&directory, Permissions::from_mode(DIRECTORY_MODE))?,
        }
        let path = directory.join(name(root));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let reach = SocketPath::to(&directory, root)?;
        let listener = UnixListener::bind(&reach.path)?;
        fs::set_permissions(&path, Permissions::from_mode(SOCKET_MODE))?;
        let identity = identity(&path)?;
        Ok(Self {
            listener,
            path,
            identity,
        })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|there| there == self.identity) {
            // What stays is found to be dead by whoever asks, and removed by the next owner.
            discard!(
                fs::remove_file(&self.path),
                error,
                "a file that is not needed any more was not removed"
            );
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Connects to the process that runs a tree; `None` if there is none.
pub async fn connect(home: &Path, root: SessionId) -> io::Result<Option<UnixStream>> {
    let connected = match SocketPath::to(&directory(home), root) {
        Ok(reach) => UnixStream::connect(&reach.path).await,
        Err(error) => Err(error),
    };
    match connected {
        Ok(stream) => Ok(Some(stream)),
        Err(error) => match error.kind() {
            // The file of a process that died stays, and refuses.
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(None),
            _ => Err(error),
        },
    }
}

/// A path to a socket that the kernel takes, however deep the home is.
#[derive(Debug)]
pub struct SocketPath {
    pub path: PathBuf,
    /// Open as long as the path leads through it.
    _directory: Option<File>,
}

impl SocketPath {
    fn to(directory: &Path, root: SessionId) -> io::Result<Self> {
        Self::to_name(directory, &name(root))
    }

    /// Returns a path to a file of this name, for as long as this is kept.
    pub fn to_name(directory: &Path, name: &str) -> io::Result<Self> {
        let path = directory.join(name);
        if path.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
            return Ok(Self {
                path,
                _directory: None,
            });
        }
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH | libc::O_DIRECTORY)
            .open(directory)?;
        let through = format!("/proc/self/fd/{}", opened.as_raw_fd());
        Ok(Self {
            path: Path::new(&through).join(name),
            _directory: Some(opened),
        })
    }
}

/// Returns the user that this process acts for.
pub fn own_user() -> u32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// Returns the user at the other end, as the kernel knows it.
pub fn peer_user(stream: &UnixStream) -> io::Result<u32> {
    Ok(stream.peer_cred()?.uid())
}
