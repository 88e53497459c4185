//! Empty directories in the place of repositories that are not there.
//!
//! Nothing can be mounted over a name that does not exist, and a refusal of the calls that would
//! make it can be raced. So while a command runs, an empty directory of ours holds the name, and
//! another empty one is mounted over it, read-only, where the command looks: now the kernel itself
//! refuses to make, rename, replace or fill it. To git an empty directory is no repository. It
//! goes with the last command that needs it; its mode tells it from what others make, so that one
//! which a killed process has left behind goes with the next.

use std::fs::{DirBuilder, Metadata, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag, open};
use nix::sys::stat::{Mode, fstat};
use troupe_protocol::discard;

use crate::limits::PLACEHOLDER_ATTEMPTS_MAX;

/// Sticky: it means nothing where nobody but the owner writes, and nobody else makes it so.
const MARK: u32 = 0o1000;
const UNMARKED: u32 = 0o755;

/// Says whether a path is one of these. Anything that was put into one makes it real.
pub fn is_placeholder(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| is_marked(&metadata) && is_empty(path))
}

/// Says whether there was nothing but one of these when one looked; it may go at any moment.
fn is_free(path: &Path, seen: &Metadata) -> bool {
    is_marked(seen) && (is_empty(path) || path.symlink_metadata().is_err())
}

/// Says whether the top of a repository is here: a `.git` which is not one of these.
pub fn holds_repository(directory: &Path) -> bool {
    let git = directory.join(".git");
    metadata(&git).is_ok_and(|seen| !seen.is_symlink() || git.exists())
}

/// Looks at a path as if there were none of these.
pub(crate) fn metadata(path: &Path) -> io::Result<Metadata> {
    let metadata = path.symlink_metadata()?;
    if is_free(path, &metadata) {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(metadata)
}

fn is_marked(metadata: &Metadata) -> bool {
    metadata.is_dir() && metadata.mode() & MARK != 0
}

pub(crate) fn is_empty(directory: &Path) -> bool {
    directory
        .read_dir()
        .is_ok_and(|mut entries| entries.next().is_none())
}

/// A share in one of these. Who has one is sure that the directory stays.
#[derive(Debug)]
pub(crate) struct PlaceholderShare {
    pub path: PathBuf,
    /// Shared with the other commands that need it; who gets it alone is the last of them.
    share: Flock<OwnedFd>,
}

impl PlaceholderShare {
    /// Makes the directory, or shares it. Fails where something real is.
    pub fn hold(path: &Path) -> io::Result<Self> {
        for _ in 0..PLACEHOLDER_ATTEMPTS_MAX {
            match DirBuilder::new().mode(MARK | UNMARKED).create(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => {}
            }
            let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            let opened = match open(path, flags, Mode::empty()) {
                Err(Errno::ENOENT) => continue,
                opened => opened?,
            };
            let share = match Flock::lock(opened, FlockArg::LockSharedNonblock) {
                // Somebody is removing it just now.
                Err((_, Errno::EWOULDBLOCK)) => {
                    std::thread::yield_now();
                    continue;
                }
                Err((_, error)) => return Err(error.into()),
                Ok(share) => share,
            };
            if !is_at(&share, path) {
                continue;
            }
            if !is_placeholder(path) {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            let path = path.to_path_buf();
            return Ok(Self { path, share });
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Gives the share back, and removes the directory if nobody else has one. Nothing may be
    /// mounted over it here any more.
    pub fn give_back(self) {
        let Self { path, share } = self;
        if share.relock(FlockArg::LockExclusiveNonblock).is_err() || !is_at(&share, &path) {
            return;
        }
        // Somebody may have made a repository of it.
        if std::fs::remove_dir(&path).is_err() && !is_empty(&path) {
            discard!(
                std::fs::set_permissions(&path, Permissions::from_mode(UNMARKED)),
                error,
                "the mode of a directory was not set back"
            );
        }
    }
}

fn is_at(opened: &Flock<OwnedFd>, path: &Path) -> bool {
    let (Ok(own), Ok(there)) = (fstat(opened.as_fd()), path.symlink_metadata()) else {
        return false;
    };
    (own.st_dev, own.st_ino) == (there.dev(), there.ino())
}

#[cfg(test)]
mod tests;
