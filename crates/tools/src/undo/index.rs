//! What git's index says of a repository's files: the name of each one's contents, and what
//! `stat` said of it when it had them.
//!
//! Read from a copy. All versions that git writes are understood, also an index in two files;
//! whatever else is in it (who watches the file system, what is not tracked, cached trees) does
//! not count here. Nothing in it is believed beyond its length: it is somebody else's file.

mod bitmap;

use bitmap::EwahBitmap;

use super::manifest::{FileStamp, ObjectId};
use crate::limits::UNDO_TICK_NS;

const NS_PER_SECOND: i64 = 1_000_000_000;
const TYPE_MASK: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const REPOSITORY: u32 = 0o160_000;

/// The length of an object's name, by the repository's hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectHash {
    Sha1,
    Sha256,
}

impl ObjectHash {
    fn bytes(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IndexEntry {
    /// Relative to the top of the work tree.
    pub path: Vec<u8>,
    pub kind: EntryKind,
    id: ObjectId,
    stat: CachedStat,
    stage: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File {
        executable: bool,
    },
    Link,
    /// A submodule.
    Repository,
    /// A directory outside of a sparse checkout, in one entry.
    SparseDirectory,
}

/// What git remembers of `lstat`: all fields are cut to 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CachedStat {
    changed: CachedTime,
    modified: CachedTime,
    inode: u32,
    size: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CachedTime {
    seconds: u32,
    nanoseconds: u32,
}

/// One index, with the time at which it was written.
#[derive(Debug, Default)]
pub(super) struct GitIndex {
    /// Sorted by path, each path once.
    pub entries: Vec<IndexEntry>,
    written_ns: i64,
}

/// The first file of an index.
#[derive(Debug)]
pub(super) struct IndexFile {
    entries: Vec<IndexEntry>,
    shared: Option<SharedLink>,
}

/// Most entries are in another file.
#[derive(Debug)]
struct SharedLink {
    id: ObjectId,
    deleted: EwahBitmap,
    replaced: EwahBitmap,
}

impl IndexFile {
    /// `None` if it is nothing that this program understands.
    pub(super) fn parse(bytes: &[u8], hash: ObjectHash) -> Option<Self> {
        let body = bytes.get(..bytes.len().checked_sub(hash.bytes())?)?;
        let mut reader = IndexReader { rest: body };
        if reader.take(4)? != b"DIRC" {
            return None;
        }
        let version = reader.u32()?;
        if !(2..=4).contains(&version) {
            return None;
        }
        let count = reader.u32()? as usize;
        // An entry is longer than its fixed part.
        if count > body.len() / (42 + hash.bytes()) {
            return None;
        }
        let mut entries: Vec<IndexEntry> = Vec::with_capacity(count);
        for _ in 0..count {
            let before = entries.last().map_or(&[][..], |entry| &entry.path);
            let entry = reader.entry(version, hash, before)?;
            entries.push(entry);
        }
        let mut shared = None;
        while !reader.rest.is_empty() {
            let (name, length) = (reader.take(4)?, reader.u32()? as usize);
            let content = reader.take(length)?;
            match name {
                b"link" => {
                    let (id, rest) = content.split_at_checked(hash.bytes())?;
                    // All zeros: there is no other file after all.
                    if id.iter().any(|byte| *byte != 0) {
                        shared = Some(SharedLink::parse(ObjectId::new(id)?, rest)?);
                    }
                }
                b"sdir" => {}
                // Without the others an index can be understood.
                _ if name[0].is_ascii_uppercase() => {}
                _ => return None,
            }
        }
        Some(Self { entries, shared })
    }

    /// Names the file with the other entries.
    pub(super) fn shared(&self) -> Option<String> {
        let id = self.shared.as_ref()?.id;
        Some(format!("sharedindex.{}", id.to_hex()))
    }

    /// Joins it with the file that it names.
    pub(super) fn join(self, shared: Option<Self>, written_ns: i64) -> Option<GitIndex> {
        let mut entries = match (self.shared, shared) {
            (None, _) => self.entries,
            (Some(link), Some(base)) => link.join(base.entries, self.entries)?,
            (Some(_), None) => return None,
        };
        entries.sort_by(|one, other| one.path.cmp(&other.path));
        entries.dedup_by(|later, earlier| {
            let is_same = later.path == earlier.path;
            // In a conflict there are several; none is what the file holds.
            if is_same {
                earlier.stage = 1;
            }
            is_same
        });
        Some(GitIndex {
            entries,
            written_ns,
        })
    }
}

impl SharedLink {
    fn parse(id: ObjectId, mut rest: &[u8]) -> Option<Self> {
        let (deleted, replaced) = if rest.is_empty() {
            (EwahBitmap::default(), EwahBitmap::default())
        } else {
            (EwahBitmap::parse(&mut rest)?, EwahBitmap::parse(&mut rest)?)
        };
        Some(Self {
            id,
            deleted,
            replaced,
        })
    }

    /// Entries without a name stand in the place of those that are marked as replaced.
    fn join(self, base: Vec<IndexEntry>, own: Vec<IndexEntry>) -> Option<Vec<IndexEntry>> {
        let (replacing, added): (Vec<_>, Vec<_>) =
            own.into_iter().partition(|entry| entry.path.is_empty());
        let mut replacing = replacing.into_iter();
        let mut joined = Vec::with_capacity(base.len() + added.len());
        for (position, entry) in base.into_iter().enumerate() {
            let replaced = if self.replaced.contains(position) {
                let path = entry.path;
                IndexEntry {
                    path,
                    ..replacing.next()?
                }
            } else {
                entry
            };
            if !self.deleted.contains(position) {
                joined.push(replaced);
            }
        }
        joined.extend(added);
        Some(joined)
    }
}

impl GitIndex {
    /// Tells whether git's listing is needed to know all files.
    pub(super) fn is_sparse(&self) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.kind == EntryKind::SparseDirectory)
    }

    /// Returns the number of the entry of a file.
    pub(super) fn number(&self, path: &[u8]) -> Option<usize> {
        let entries = &self.entries;
        let found = entries.binary_search_by(|entry| entry.path.as_slice().cmp(path));
        found.ok()
    }

    /// Returns the numbers of the entries at a path, and below it.
    pub(super) fn numbers_under(&self, path: &[u8]) -> impl Iterator<Item = usize> {
        let below = [path, b"/"].concat();
        let first = self.entries.partition_point(|entry| entry.path < below);
        let rest = &self.entries[first..];
        let count = rest.partition_point(|entry| entry.path.starts_with(&below));
        self.number(path).into_iter().chain(first..first + count)
    }

    /// Returns the name of a file's contents, if nobody has touched it since git looked. These
    /// are the contents that git keeps, which need not be those on disk.
    pub(super) fn clean_id(&self, entry: &IndexEntry, stamp: &FileStamp) -> Option<ObjectId> {
        let EntryKind::File { executable } = entry.kind else {
            return None;
        };
        let is_clean = entry.stage == 0
            && stamp.is_regular()
            && stamp.is_executable() == executable
            && entry.stat.is_of(stamp)
            && entry.stat.is_older_than(self.written_ns);
        is_clean.then_some(entry.id)
    }
}

impl IndexEntry {
    /// Returns the name that a file's contents may still have, though somebody touched it.
    pub(super) fn compared_id(&self, stamp: &FileStamp) -> Option<ObjectId> {
        // Git writes no size of what was changed while it looked.
        let may_be_same = self.stat.size == 0 || self.stat.size == cut(stamp.size);
        let is_file = matches!(self.kind, EntryKind::File { .. });
        (is_file && self.stage == 0 && stamp.is_regular() && may_be_same).then_some(self.id)
    }
}

impl CachedStat {
    fn is_of(&self, stamp: &FileStamp) -> bool {
        // Some programs write zeros for what they do not know.
        let is_known = self.inode != 0 && self.changed.seconds != 0;
        is_known
            && self.inode == cut(stamp.inode)
            && self.size == cut(stamp.size)
            && self.modified.is_at(stamp.modified_ns)
            && self.changed.is_at(stamp.changed_ns)
    }

    /// A file that was changed when the index was written may have been changed again since,
    /// within one tick of the clock.
    fn is_older_than(&self, written_ns: i64) -> bool {
        let newest = self.modified.end_ns().max(self.changed.end_ns());
        newest.saturating_add(UNDO_TICK_NS) < written_ns
    }
}

impl CachedTime {
    fn is_at(self, nanoseconds: i64) -> bool {
        let seconds = nanoseconds.div_euclid(NS_PER_SECOND);
        let rest = nanoseconds.rem_euclid(NS_PER_SECOND);
        let has_seconds = i64::from(self.seconds) == seconds & i64::from(u32::MAX);
        has_seconds && (self.nanoseconds == 0 || i64::from(self.nanoseconds) == rest)
    }

    /// The latest moment that it can stand for.
    fn end_ns(self) -> i64 {
        let rest = match self.nanoseconds {
            0 => NS_PER_SECOND,
            known => i64::from(known),
        };
        i64::from(self.seconds) * NS_PER_SECOND + rest
    }
}

/// As git cuts what it keeps.
fn cut(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or_default()
}

#[derive(Debug)]
struct IndexReader<'a> {
    rest: &'a [u8],
}

impl<'a> IndexReader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn time(&mut self) -> Option<CachedTime> {
        Some(CachedTime {
            seconds: self.u32()?,
            nanoseconds: self.u32()?,
        })
    }

    fn entry(&mut self, version: u32, hash: ObjectHash, before: &[u8]) -> Option<IndexEntry> {
        let whole = self.rest.len();
        let (changed, modified) = (self.time()?, self.time()?);
        let (_device, inode, mode) = (self.u32()?, self.u32()?, self.u32()?);
        let (_user, _group, size) = (self.u32()?, self.u32()?, self.u32()?);
        let id = ObjectId::new(self.take(hash.bytes())?)?;
        let flags = self.u16()?;
        if flags & 0x4000 != 0 {
            self.u16()?;
        }
        let path = if version == 4 {
            let kept = before.len().checked_sub(self.varint()?)?;
            [&before[..kept], self.until_zero()?].concat()
        } else {
            let path = self.until_zero()?.to_vec();
            // Each entry ends with one to eight zeros, so that its length is a multiple of eight.
            let used = whole - self.rest.len() - 1;
            self.take((used + 8) / 8 * 8 - used - 1)?;
            path
        };
        Some(IndexEntry {
            path,
            kind: EntryKind::of(mode)?,
            id,
            stat: CachedStat {
                changed,
                modified,
                inode,
                size,
            },
            stage: flags >> 12 & 3,
        })
    }

    fn until_zero(&mut self) -> Option<&'a [u8]> {
        let end = memchr::memchr(0, self.rest)?;
        let taken = self.take(end + 1)?;
        Some(&taken[..end])
    }

    /// The encoding of offsets in packs: each continued byte counts one more.
    fn varint(&mut self) -> Option<usize> {
        let mut byte = self.take(1)?[0];
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.take(1)?[0];
            let high = value.checked_add(1)?.checked_mul(0x80)?;
            value = high.checked_add(usize::from(byte & 0x7f))?;
        }
        Some(value)
    }
}

impl EntryKind {
    fn of(mode: u32) -> Option<Self> {
        match mode & TYPE_MASK {
            REGULAR => Some(Self::File {
                executable: mode & 0o111 != 0,
            }),
            0o120_000 => Some(Self::Link),
            REPOSITORY => Some(Self::Repository),
            DIRECTORY => Some(Self::SparseDirectory),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
