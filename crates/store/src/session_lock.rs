//! Who owns a log: an exclusive `flock` on the file itself. The kernel gives it back when the
//! owner dies, however it dies, and it follows the file when that is moved.

use std::fs::{self, File, TryLockError};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use troupe_protocol::SessionId;
use troupe_protocol::discard;

use crate::error::StoreError;

/// An open log that nobody else can append to.
#[derive(Debug)]
pub(crate) struct SessionLock {
    file: Arc<File>,
}

impl SessionLock {
    /// Locks the file, or says who has it.
    pub(crate) fn take(file: File, session: SessionId, path: &Path) -> Result<Self, StoreError> {
        match file.try_lock() {
            Ok(()) => {
                tracing::debug!(%session, "a lease is taken");
                Ok(Self {
                    file: Arc::new(file),
                })
            }
            Err(TryLockError::WouldBlock) => {
                let by = owner(&file);
                tracing::debug!(%session, by, "a lease is held by somebody else");
                Err(StoreError::Owned { session, by })
            }
            Err(TryLockError::Error(source)) => Err(StoreError::io("lock", path, source)),
        }
    }

    /// Tells whether `path` still leads to the file, which another process may have moved
    /// between our finding and locking it.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        match (self.file.metadata(), fs::metadata(path)) {
            (Ok(ours), Ok(there)) => ours.ino() == there.ino() && ours.dev() == there.dev(),
            _ => false,
        }
    }

    /// Returns the file for work that may outlive the lease, such as a sync.
    pub(crate) fn file(&self) -> Arc<File> {
        self.file.clone()
    }
}

impl Deref for SessionLock {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

/// Closing the file would do, but not at once: a process that is just being started shares
/// our open files until it has become another program.
impl Drop for SessionLock {
    fn drop(&mut self) {
        tracing::debug!("a lease is given back");
        // It fails only for a file that is not open.
        discard!(
            self.file.unlock(),
            error,
            "a lease was not given back before its file is closed"
        );
    }
}

/// Tells whether somebody owns a log, without taking it.
pub(crate) fn is_held(path: &Path) -> Result<bool, StoreError> {
    let file = File::open(path).map_err(|source| StoreError::read(path, source))?;
    if owner(&file).is_some() {
        return Ok(true);
    }
    // An owner that `/proc/locks` does not tell of, as in another pid namespace. Many may have
    // the shared lock, and it is gone with the file.
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(source)) => Err(StoreError::io("lock", path, source)),
    }
}

/// Finds the owner in `/proc/locks`. `None` where that does not tell, as for an owner in
/// another pid namespace.
fn owner(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| owner_in(line, &inode))
}

/// `1: FLOCK  ADVISORY  WRITE 4711 fe:00:131090 0 EOF`. The device is not compared: what is
/// written there is not what `stat` says on file systems with subvolumes.
fn owner_in(line: &str, inode: &str) -> Option<u32> {
    let mut words = line.split_whitespace().skip(1);
    if words.next()? != "FLOCK" {
        return None;
    }
    let mut words = words.skip(2);
    let pid = words.next()?.parse().ok().filter(|pid| *pid != 0)?;
    (words.next()?.rsplit(':').next()? == inode).then_some(pid)
}

#[cfg(test)]
mod tests {
    use super::owner_in;

    #[test]
    fn owner_is_the_pid_of_the_flock_on_the_inode() {
        let check = |line, expected: Option<u32>| assert_eq!(owner_in(line, "131090"), expected);
        check(
            "1: FLOCK  ADVISORY  WRITE 4711 fe:00:131090 0 EOF",
            Some(4711),
        );
        check("1: FLOCK  ADVISORY  WRITE 4711 fe:00:131091 0 EOF", None);
        check("1: POSIX  ADVISORY  WRITE 4711 fe:00:131090 0 EOF", None);
        check("1: FLOCK  ADVISORY  WRITE 0 fe:00:131090 0 EOF", None);
        check("1: -> FLOCK  ADVISORY  WRITE 4711 fe:00:131090 0 EOF", None);
        check("", None);
    }
}
