//! What stands in a place now.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use troupe_protocol::undo::FileState;

use crate::limits::UNDO_FILE_BYTES_MAX;

/// Returns what is there, with its contents if they can be kept. Blocks on the file system.
pub(crate) fn read_state(path: &Path) -> (FileState, Option<Vec<u8>>) {
    match read(path) {
        Ok(found) => found,
        Err(error) if is_absent(&error) => (FileState::Absent, None),
        Err(error) => (other(format!("it cannot be read ({error})")), None),
    }
}

pub(super) fn sha256(content: &[u8]) -> String {
    format!("{:x}", Sha256::digest(content))
}

pub(super) fn other(what: impl Into<String>) -> FileState {
    FileState::Other { what: what.into() }
}

fn read(path: &Path) -> io::Result<(FileState, Option<Vec<u8>>)> {
    let metadata = path.symlink_metadata()?;
    let kind = metadata.file_type();
    if kind.is_symlink() {
        return Ok((other("it is a symbolic link"), None));
    }
    if kind.is_dir() {
        return Ok((other("it is a directory"), None));
    }
    if !kind.is_file() {
        return Ok((other("it is not a regular file"), None));
    }
    let file = File::options()
        .read(true)
        // A pipe that has taken the file's place must not keep anybody waiting.
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)?;
    if metadata.size() > UNDO_FILE_BYTES_MAX {
        return Ok((too_large(), None));
    }
    let mut content = Vec::with_capacity(usize::try_from(metadata.size()).unwrap_or_default());
    file.take(UNDO_FILE_BYTES_MAX + 1)
        .read_to_end(&mut content)?;
    if content.len() as u64 > UNDO_FILE_BYTES_MAX {
        return Ok((too_large(), None));
    }
    let state = FileState::File {
        sha256: sha256(&content),
        mode: metadata.permissions().mode() & 0o7777,
    };
    Ok((state, Some(content)))
}

pub(super) fn too_large() -> FileState {
    other(format!("it is larger than {UNDO_FILE_BYTES_MAX} bytes"))
}

/// A directory that is a repository of its own.
pub(super) fn repository() -> FileState {
    other("it is a repository of its own, and what is in it is not known")
}

fn is_absent(error: &io::Error) -> bool {
    // A file has taken the place of a directory on the way.
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
