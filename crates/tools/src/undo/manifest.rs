//! What a work tree held at one moment: each file, what `stat` said of it, and where its
//! contents are.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use super::listing::FileListing;
use crate::limits::{UNDO_SETTLED_NS, UNDO_TICK_NS};

mod file;

/// All files of one look, sorted by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TreeManifest {
    pub files: Vec<KnownFile>,
    /// Why the next look need not ask git for all of them again.
    pub listing: Option<FileListing>,
}

/// What is no longer as a look has it.
#[derive(Debug)]
pub(super) struct ManifestChanges {
    /// Files that are new, or other than they were. Each path once.
    pub files: Vec<KnownFile>,
    /// The numbers of files that are not there any more, sorted.
    pub gone: Vec<usize>,
    pub listing: Option<FileListing>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownFile {
    /// Relative to the top of the work tree.
    pub path: Vec<u8>,
    pub stamp: FileStamp,
    pub content: FileContent,
    /// It had been left alone for a while, so that the same stamp means the same contents.
    pub is_settled: bool,
}

/// What `lstat` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub mode: u32,
    pub inode: u64,
    pub size: u64,
    pub modified_ns: i64,
    pub changed_ns: i64,
}

/// Where a file's contents are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileContent {
    /// In the user's repository, byte for byte.
    Object(ObjectId),
    /// In our own directory, under this SHA-256.
    Kept([u8; 32]),
    Link(PathBuf),
    /// Nowhere: a change is seen, and cannot be taken back.
    Unkept(UnkeptReason),
    /// A directory that is a repository of its own; what is in it is not looked at.
    Repository,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnkeptReason {
    TooLarge,
    /// More files that are in no commit than one look keeps.
    TooMany,
    Unreadable,
    /// A pipe, a socket, a device.
    Special,
}

/// The name that git has for contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectId {
    Sha1([u8; 20]),
    Sha256([u8; 32]),
}

impl ObjectId {
    /// `None` if it has another length.
    pub(super) fn new(bytes: &[u8]) -> Option<Self> {
        let short = bytes.try_into().map(Self::Sha1);
        short.or_else(|_| bytes.try_into().map(Self::Sha256)).ok()
    }

    /// Returns the name of these contents, by the hash of another one.
    pub(super) fn of_blob(content: &[u8], like: &Self) -> Self {
        let head = format!("blob {}\0", content.len());
        match like {
            Self::Sha1(_) => {
                let hash = Sha1::new().chain_update(head).chain_update(content);
                Self::Sha1(hash.finalize().into())
            }
            Self::Sha256(_) => {
                let hash = Sha256::new().chain_update(head).chain_update(content);
                Self::Sha256(hash.finalize().into())
            }
        }
    }

    pub(super) fn to_hex(self) -> String {
        hex(self.as_bytes())
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Sha1(bytes) => bytes,
            Self::Sha256(bytes) => bytes,
        }
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    let pairs = bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    pairs.collect()
}

impl TreeManifest {
    pub(super) fn find(&self, path: &[u8]) -> Option<&KnownFile> {
        let found = self
            .files
            .binary_search_by(|file| file.path.as_slice().cmp(path));
        found.ok().map(|at| &self.files[at])
    }

    /// Returns what is not the same in a later one: each path, with what it was.
    pub(super) fn differences<'a>(
        &'a self,
        later: &'a Self,
    ) -> impl Iterator<Item = (&'a [u8], Option<&'a KnownFile>)> {
        let (mut before, mut after) = (self.files.iter().peekable(), later.files.iter().peekable());
        std::iter::from_fn(move || {
            loop {
                let order = match (before.peek(), after.peek()) {
                    (None, None) => return None,
                    (Some(_), None) => std::cmp::Ordering::Less,
                    (None, Some(_)) => std::cmp::Ordering::Greater,
                    (Some(one), Some(other)) => one.path.cmp(&other.path),
                };
                match order {
                    std::cmp::Ordering::Less => {
                        let gone = before.next()?;
                        return Some((gone.path.as_slice(), Some(gone)));
                    }
                    std::cmp::Ordering::Greater => {
                        let new = after.next()?;
                        return Some((new.path.as_slice(), None));
                    }
                    std::cmp::Ordering::Equal => {
                        let (old, new) = (before.next()?, after.next()?);
                        if !old.is_same(new) {
                            return Some((old.path.as_slice(), Some(old)));
                        }
                    }
                }
            }
        })
    }
}

impl TreeManifest {
    /// Returns what is not the same any more: each path, with what it was. As
    /// [`Self::differences`] does, of what [`Self::update`] would make.
    pub(super) fn differing<'a>(
        &'a self,
        changes: &'a ManifestChanges,
    ) -> Vec<(&'a [u8], Option<&'a KnownFile>)> {
        let gone = changes.gone.iter().map(|number| &self.files[*number]);
        let gone = gone.map(|file| (file.path.as_slice(), Some(file)));
        let changed = changes.files.iter().filter_map(|file| {
            let was = self.find(&file.path);
            let is_same = was.is_some_and(|was| was.is_same(file));
            (!is_same).then_some((file.path.as_slice(), was))
        });
        let mut differing: Vec<_> = gone.chain(changed).collect();
        differing.sort_by_key(|(path, _)| *path);
        differing
    }

    /// Makes it what a later look has found. Tells whether that is anything else.
    pub(super) fn update(&mut self, changes: ManifestChanges) -> bool {
        let ManifestChanges {
            files,
            gone,
            listing,
        } = changes;
        let mut is_other = !gone.is_empty() || self.listing != listing;
        self.listing = listing;
        let mut new = Vec::new();
        for file in files {
            let found = self.files.binary_search_by(|it| it.path.cmp(&file.path));
            match found {
                Ok(number) if self.files[number] == file => {}
                Ok(number) => {
                    self.files[number] = file;
                    is_other = true;
                }
                Err(_) => new.push(file),
            }
        }
        let mut gone = gone.into_iter().peekable();
        let mut number = 0;
        self.files.retain(|_| {
            let is_gone = gone.next_if_eq(&number).is_some();
            number += 1;
            !is_gone
        });
        if !new.is_empty() {
            self.files.extend(new);
            self.files.sort_by(|one, other| one.path.cmp(&other.path));
            is_other = true;
        }
        is_other
    }
}

impl KnownFile {
    fn is_same(&self, other: &Self) -> bool {
        let is_same_content = match (&self.content, &other.content) {
            // What one look had no room for, the next may have kept: that is no change.
            (FileContent::Unkept(_), _) | (_, FileContent::Unkept(_)) => self.stamp == other.stamp,
            (one, other) => one == other,
        };
        is_same_content
            && (self.content == FileContent::Repository
                || self.stamp.is_executable() == other.stamp.is_executable())
    }
}

impl FileStamp {
    pub(super) fn is_regular(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFREG
    }

    pub(super) fn is_link(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFLNK
    }

    pub(super) fn is_directory(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFDIR
    }

    pub(super) fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }

    /// Tells whether a later change is sure to have another time. The clock is that of the file
    /// system, which need not be ours.
    pub(super) fn is_settled(&self, now_ns: i64) -> bool {
        let newest = self.modified_ns.max(self.changed_ns);
        newest.saturating_add(UNDO_SETTLED_NS.max(UNDO_TICK_NS)) < now_ns
    }
}

/// What the clock says, in the way of the file system.
pub(super) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let ns = since.map_or(0, |since| since.as_nanos());
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Names a file below a directory.
pub(super) fn joined(root: &Path, path: &[u8]) -> PathBuf {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    root.join(OsStr::from_bytes(path))
}

#[cfg(test)]
mod tests;
