//! Contents of files, each under its SHA-256.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};
use troupe_protocol::discard;

use super::file_state::sha256;
use super::manifest::hex;
use crate::limits::UNDO_BLOBS_BYTES_MAX;

/// A directory of contents. When it has grown too large, those that were not kept again for
/// the longest time go; a turn that needs one of them can then be taken back only in part.
#[derive(Debug)]
pub(super) struct BlobStore {
    directory: PathBuf,
    /// Where contents are besides, which is only read.
    beside: Option<PathBuf>,
    /// All contents together.
    bytes_max: u64,
    /// Bytes that were added since the directory was looked through; `None` before that.
    added: Mutex<Option<u64>>,
}

/// The directory is looked through again when this part of its room has been added.
const ADDED_SHARE: u64 = 12;

/// How old a content is before it is marked as used again.
const USED_INTERVAL: Duration = Duration::from_hours(1);

impl BlobStore {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self::within(directory, UNDO_BLOBS_BYTES_MAX)
    }

    fn within(directory: PathBuf, bytes_max: u64) -> Self {
        Self {
            directory,
            beside: None,
            bytes_max,
            added: Mutex::default(),
        }
    }

    /// Has these contents too, and keeps new ones in another directory.
    pub(super) fn in_scratch(&self, directory: PathBuf) -> Self {
        Self {
            beside: Some(self.directory.clone()),
            ..Self::new(directory)
        }
    }

    /// Keeps a content and returns its name.
    pub(super) fn keep(&self, content: &[u8]) -> io::Result<String> {
        Ok(hex(&self.keep_bytes(content)?))
    }

    /// The same, with the name as bytes.
    pub(super) fn keep_bytes(&self, content: &[u8]) -> io::Result<[u8; 32]> {
        let sha256: [u8; 32] = Sha256::digest(content).into();
        if self.beside(&hex(&sha256)).is_some_and(|path| path.exists()) {
            return Ok(sha256);
        }
        let path = self.path(&hex(&sha256));
        if let Ok(file) = fs::File::options().append(true).open(&path) {
            // It is there; from now on it counts as new.
            file.set_modified(SystemTime::now())?;
            return Ok(sha256);
        }
        let directory = path.parent().unwrap_or(&self.directory);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        self.make_room(content.len() as u64);
        write_whole(&path, content)?;
        Ok(sha256)
    }

    /// Tells whether a content is kept. It counts as used.
    pub(super) fn has(&self, sha256: &[u8; 32]) -> bool {
        let name = hex(sha256);
        if self.beside(&name).is_some_and(|path| path.exists()) {
            return true;
        }
        let path = self.path(&name);
        let Ok(metadata) = path.symlink_metadata() else {
            return false;
        };
        let age = metadata.modified().map(|time| time.elapsed());
        if matches!(age, Ok(Ok(age)) if age > USED_INTERVAL)
            && let Ok(file) = fs::File::options().append(true).open(&path)
        {
            // If it cannot be marked, it goes earlier than it might.
            discard!(
                file.set_modified(SystemTime::now()),
                error,
                "a kept content was not marked as used"
            );
        }
        true
    }

    /// Looks through the directory once, and again whenever much has been added.
    fn make_room(&self, bytes: u64) {
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        let so_far = added.map(|so_far| so_far + bytes);
        match so_far {
            Some(so_far) if so_far <= self.bytes_max / ADDED_SHARE => *added = Some(so_far),
            Some(_) | None => {
                prune(&self.directory, self.bytes_max, bytes);
                *added = Some(bytes);
            }
        }
    }

    /// Returns a kept content, if it is still there and is what it is called.
    pub(super) fn get(&self, name: &str) -> Option<Vec<u8>> {
        let is_name = name.len() == 64 && name.bytes().all(|letter| letter.is_ascii_hexdigit());
        if !is_name {
            return None;
        }
        let beside = self.beside(name).and_then(|path| fs::read(path).ok());
        let content = beside.or_else(|| fs::read(self.path(name)).ok())?;
        (sha256(&content) == name).then_some(content)
    }

    fn path(&self, name: &str) -> PathBuf {
        below(&self.directory, name)
    }

    fn beside(&self, name: &str) -> Option<PathBuf> {
        Some(below(self.beside.as_ref()?, name))
    }
}

fn below(directory: &Path, name: &str) -> PathBuf {
    directory.join(&name[..2]).join(&name[2..])
}

/// Whoever finds the file finds all of it.
fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let draft = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
    let mut file = fs::File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    let written = file
        .write_all(content)
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // What is left of it is pruned with the others.
        discard!(
            fs::remove_file(&draft),
            error,
            "a file that is not needed any more was not removed"
        );
    }
    written
}

struct StoredBlob {
    modified: SystemTime,
    bytes: u64,
    path: PathBuf,
}

/// Removes the oldest contents until three quarters of the room are used, if it would not hold
/// what is added until the next time. What cannot be removed stays.
fn prune(directory: &Path, bytes_max: u64, coming: u64) {
    let mut held = Vec::new();
    for shelf in fs::read_dir(directory).into_iter().flatten().flatten() {
        let entries = fs::read_dir(shelf.path());
        for entry in entries.into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            held.push(StoredBlob {
                modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                bytes: metadata.len(),
                path: entry.path(),
            });
        }
    }
    let mut total: u64 = held.iter().map(|blob| blob.bytes).sum();
    if total + coming + bytes_max / ADDED_SHARE <= bytes_max {
        return;
    }
    held.sort_by_key(|blob| blob.modified);
    for blob in held {
        if total <= bytes_max / 4 * 3 {
            break;
        }
        if fs::remove_file(&blob.path).is_ok() {
            total -= blob.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_found_by_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(directory.path().join("blobs"));
        let name = blobs.keep(b"one").unwrap();
        assert_eq!(blobs.keep(b"one").unwrap(), name);
        assert_eq!(blobs.get(&name).as_deref(), Some(&b"one"[..]));
        assert_eq!(blobs.get("../../etc/passwd"), None);
        assert_eq!(blobs.get(&"0".repeat(64)), None);
    }

    #[test]
    fn the_bound_holds_while_contents_are_added() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = BlobStore::within(directory.path().join("blobs"), 1_200_000);
        let total = || -> u64 {
            let shelves = fs::read_dir(directory.path().join("blobs")).unwrap();
            let files = shelves.flat_map(|shelf| fs::read_dir(shelf.unwrap().path()).unwrap());
            files
                .map(|file| file.unwrap().metadata().unwrap().len())
                .sum()
        };
        let mut last = String::new();
        for number in 0..100_u8 {
            last = blobs.keep(&vec![number; 50_000]).unwrap();
            assert!(total() <= 1_200_000, "after {number}: {}", total());
        }
        assert!(blobs.get(&last).is_some(), "the oldest go first");
    }

    #[test]
    fn what_is_not_what_it_is_called_is_not_given_out() {
        let directory = tempfile::tempdir().unwrap();
        let blobs = BlobStore::new(directory.path().to_owned());
        let name = blobs.keep(b"one").unwrap();
        fs::write(blobs.path(&name), "two").unwrap();
        assert_eq!(blobs.get(&name), None);
    }
}
