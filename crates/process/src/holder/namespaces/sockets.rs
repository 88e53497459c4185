//! Unix sockets of programs outside, which a read-only mount does not keep from being used.
//!
//! Pathname sockets belong to no namespace: who can reach the file can connect. So each socket
//! file that somebody on this host has bound is covered. Commands' own sockets are bound later,
//! and without a network are not even in the list.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use super::mounts;

/// The kernel gives a page at a time.
const READ_BYTES: usize = 4096;

#[derive(Debug)]
pub(super) struct SocketCovers {
    list: File,
    covered: BTreeSet<PathBuf>,
}

impl SocketCovers {
    /// The list is that of the network namespace in which it is opened, for as long as it is open.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            list: File::open("/proc/self/net/unix")?,
            covered: BTreeSet::new(),
        })
    }

    /// Covers the sockets that have come since the last time.
    pub fn mask(&mut self) -> io::Result<()> {
        let list = self.read()?;
        for path in String::from_utf8_lossy(&list).lines().filter_map(path_of) {
            if !self.covered.contains(path) && is_socket(path) {
                match mounts::cover(path) {
                    Ok(()) => self.covered.insert(path.to_path_buf()),
                    // Its owner has removed it just now.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                };
            }
        }
        Ok(())
    }

    /// The position in an open file is shared with every keeper, so none is used.
    fn read(&self) -> io::Result<Vec<u8>> {
        let mut list = Vec::new();
        loop {
            let length = list.len();
            list.resize(length + READ_BYTES, 0);
            let read = self.list.read_at(&mut list[length..], length as u64)?;
            list.truncate(length + read);
            if read == 0 {
                return Ok(list);
            }
        }
    }
}

/// The last of eight columns, if it is a path in the file system.
fn path_of(line: &str) -> Option<&Path> {
    let start = line.find(" /")?;
    Some(Path::new(&line[start + 1..]))
}

fn is_socket(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.file_type().is_socket())
}
