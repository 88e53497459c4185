//! What files contain, as a number that tells two contents apart.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::limits::{DIGEST_BYTES_MAX, DIGEST_PIECE_BYTES};

/// One file, at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDigest {
    pub path: PathBuf,
    /// SHA-256 of the contents, in hex. `None` if there is no file, or none that can be read
    /// in a reasonable time.
    pub sha256: Option<String>,
}

impl FileDigest {
    /// Looks at a file. Blocks on the file system.
    pub fn look(path: PathBuf) -> Self {
        Self {
            sha256: of_path(&path),
            path,
        }
    }
}

/// Returns the SHA-256 of a regular file. Blocks on the file system.
pub fn of_path(path: &Path) -> Option<String> {
    let file = OpenOptions::new()
        .read(true)
        // A pipe that has taken the file's place must not keep anybody waiting.
        .custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
        .ok()?;
    of_file(file).ok()
}

/// Returns the SHA-256 of these bytes.
pub fn of_bytes(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

fn of_file(mut file: File) -> io::Result<String> {
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > DIGEST_BYTES_MAX {
        return Err(io::Error::other("it is not a regular file of a usual size"));
    }
    let mut hash = Sha256::new();
    let mut piece = vec![0; DIGEST_PIECE_BYTES];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            read => hash.update(&piece[..read]),
        }
    }
    Ok(format!("{:x}", hash.finalize()))
}
