//! Finding out where the contents of each file of a work tree are.
//!
//! ```text
//! the last look has the file, nobody touched it since  ─► as the last look has it
//! the index has it, nobody touched it since,
//!   and git keeps the bytes that are on disk           ─► git's object
//! the index has it, and its bytes have the name that
//!   the index has for them                             ─► git's object
//! else                                                 ─► read and kept, within bounds
//! ```
//!
//! Git may keep other bytes than are on disk: line ends, keywords, another encoding, a filter.
//! The first two always have another length than git's; of the others the attributes tell. Such
//! files are kept as they are, so what comes back is what was there.

use std::collections::BTreeSet;
use std::io;

use super::blobs::BlobStore;
use super::index::{EntryKind, GitIndex, IndexEntry};
use super::manifest::{FileContent, FileStamp, KnownFile, ObjectId, TreeManifest, UnkeptReason};
use super::scan::{FileWalk, WorkTree};
use crate::blocking::WorkDeadline;
use crate::limits::THREAD_COMPARED_MIN;
use crate::limits::{
    UNDO_COMPARE_TIME_MAX, UNDO_FILE_BYTES_MAX, UNDO_LOOK_BYTES_MAX, UNDO_LOOK_COMPARED_BYTES_MAX,
    UNDO_LOOK_COMPARED_FILES_MAX, UNDO_LOOK_FILES_MAX,
};

/// The files of a look, before it is known where their contents are.
#[derive(Debug, Default)]
pub(super) struct SnapshotCandidates {
    /// Sorted by path, each once.
    files: Vec<SeenFile>,
}

#[derive(Debug)]
struct SeenFile {
    path: Vec<u8>,
    stamp: FileStamp,
    source: ContentSource,
}

/// A file that was found.
#[derive(Debug)]
pub(super) struct ScannedFile {
    pub path: Vec<u8>,
    pub stamp: FileStamp,
    pub standing: GitTracking,
}

/// What git says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitTracking {
    /// By its number in the index.
    Tracked(usize),
    Untracked,
    /// It is the top of a repository of its own.
    Repository,
}

/// Where a file's contents are, as far as it is known.
#[derive(Debug)]
enum ContentSource {
    Known(FileContent),
    /// Perhaps in this object.
    Object(ObjectId),
    /// In this object, if the bytes on disk have its name: somebody touched the file.
    Compared(ObjectId),
    Unknown,
}

/// What a look came to.
#[derive(Debug)]
pub(super) struct AssembledFiles {
    /// Sorted by path, each once.
    pub files: Vec<KnownFile>,
    /// Files that had to be left for the next look.
    pub left_over: usize,
}

impl SnapshotCandidates {
    /// Joins what was found in the file system with what is known. The files come sorted, each
    /// once.
    pub(super) fn join(
        found: Vec<ScannedFile>,
        index: &GitIndex,
        previous: Option<&TreeManifest>,
        blobs: &BlobStore,
    ) -> Self {
        let mut files: Vec<SeenFile> = Vec::with_capacity(found.len());
        let mut known = previous.map_or(&[][..], |it| &it.files).iter().peekable();
        for ScannedFile {
            path,
            stamp,
            standing,
        } in found
        {
            let entry = match standing {
                GitTracking::Tracked(number) => index.entries.get(number),
                GitTracking::Untracked | GitTracking::Repository => None,
            };
            let is_submodule = entry.is_some_and(|entry| entry.kind == EntryKind::Repository);
            let source = if stamp.is_directory() {
                if standing != GitTracking::Repository && !is_submodule {
                    continue;
                }
                ContentSource::Known(FileContent::Repository)
            } else {
                while known.next_if(|file| file.path < path).is_some() {}
                let earlier = known.peek().filter(|file| file.path == path);
                let reused = earlier.and_then(|file| reusable(file, &stamp, blobs));
                match reused {
                    Some(content) => ContentSource::Known(content),
                    None => entry.map_or(ContentSource::Unknown, |entry| {
                        ContentSource::in_index(index, entry, &stamp)
                    }),
                }
            };
            files.push(SeenFile {
                path,
                stamp,
                source,
            });
        }
        Self { files }
    }

    /// Returns the objects that may hold contents, in the order of the files, each with the
    /// length of its file.
    pub(super) fn objects(&self) -> Vec<(ObjectId, u64)> {
        let files = self.files.iter();
        let objects = files.filter_map(|file| match &file.source {
            ContentSource::Object(id) => Some((*id, file.stamp.size)),
            ContentSource::Known(_) | ContentSource::Compared(_) | ContentSource::Unknown => None,
        });
        objects.collect()
    }

    /// Returns the files of [`Self::objects`].
    pub(super) fn object_paths(&self) -> Vec<&[u8]> {
        let files = self.files.iter();
        let files = files.filter(|file| matches!(file.source, ContentSource::Object(_)));
        files.map(|file| file.path.as_slice()).collect()
    }

    /// Returns the files that give attributes to others.
    pub(super) fn attribute_files(&self) -> impl Iterator<Item = &[u8]> {
        let paths = self.files.iter().map(|file| file.path.as_slice());
        paths.filter(|path| gives_attributes(path))
    }

    /// Says that all objects hold the bytes on disk. Whoever uses one compares the lengths.
    pub(super) fn trust_objects(&mut self) {
        for file in &mut self.files {
            if let ContentSource::Object(id) = &file.source {
                file.source = ContentSource::Known(FileContent::Object(*id));
            }
        }
    }

    /// Compares files that were touched with what git has of them, within bounds. Blocks on the
    /// file system.
    pub(super) fn compare(&mut self, tree: &WorkTree, stop: &WorkDeadline) -> io::Result<()> {
        let mut room = ReadBudget::for_comparing();
        let files = self.files.iter().enumerate();
        let compared: Vec<(usize, ObjectId)> = files
            .filter_map(|(number, file)| match &file.source {
                ContentSource::Compared(id) => Some((number, *id)),
                ContentSource::Known(_) | ContentSource::Object(_) | ContentSource::Unknown => None,
            })
            .filter(|(number, _)| room.take(self.files[*number].stamp.size))
            .collect();
        if compared.is_empty() {
            return Ok(());
        }
        let time = WorkDeadline::after(Some(UNDO_COMPARE_TIME_MAX));
        let same = tree.spread(
            &compared,
            THREAD_COMPARED_MIN,
            stop,
            |walk, (number, id)| {
                if time.is_due() {
                    return None;
                }
                let (stamp, content) = walk.read(&self.files[*number].path).ok()?;
                (ObjectId::of_blob(&content, id) == *id).then_some(stamp)
            },
        )?;
        for ((number, id), stamp) in compared.into_iter().zip(same) {
            if let Some(stamp) = stamp {
                let file = &mut self.files[number];
                file.stamp = stamp;
                file.source = ContentSource::Known(FileContent::Object(id));
            }
        }
        Ok(())
    }

    /// Says which objects hold the very bytes on disk: those that are there with the length of
    /// the file, and that no attribute converts.
    pub(super) fn verify(&mut self, sizes: &[Option<u64>], converted: &BTreeSet<Vec<u8>>) {
        let mut sizes = sizes.iter();
        for file in &mut self.files {
            let ContentSource::Object(id) = &file.source else {
                continue;
            };
            let is_exact =
                sizes.next() == Some(&Some(file.stamp.size)) && !converted.contains(&file.path);
            file.source = if is_exact {
                ContentSource::Known(FileContent::Object(*id))
            } else {
                ContentSource::Unknown
            };
        }
    }

    /// Reads and keeps what is nowhere yet. Blocks on the file system.
    pub(super) fn assemble(
        self,
        tree: &WorkTree,
        blobs: &BlobStore,
        now_ns: i64,
        stop: &WorkDeadline,
    ) -> io::Result<AssembledFiles> {
        let mut walk = tree.walk();
        let mut room = ReadBudget::default();
        let mut files = Vec::with_capacity(self.files.len());
        for SeenFile {
            path,
            stamp,
            source,
        } in self.files
        {
            let (stamp, content) = match source {
                ContentSource::Known(content) => (stamp, content),
                ContentSource::Object(_) | ContentSource::Compared(_) | ContentSource::Unknown => {
                    if stop.is_due() {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    keep(&path, stamp, &mut walk, blobs, &mut room)?
                }
            };
            files.push(KnownFile {
                is_settled: stamp.is_settled(now_ns),
                path,
                stamp,
                content,
            });
        }
        Ok(AssembledFiles {
            files,
            left_over: room.left_over,
        })
    }
}

impl ContentSource {
    fn in_index(index: &GitIndex, entry: &IndexEntry, stamp: &FileStamp) -> Self {
        if let Some(id) = index.clean_id(entry, stamp) {
            return Self::Object(id);
        }
        let compared = entry.compared_id(stamp);
        let compared = compared.filter(|_| stamp.size <= UNDO_FILE_BYTES_MAX);
        compared.map_or(Self::Unknown, Self::Compared)
    }
}

/// Tells whether a file gives attributes to others, by its name.
pub(super) fn gives_attributes(path: &[u8]) -> bool {
    path == b".gitattributes" || path.ends_with(b"/.gitattributes")
}

/// Returns what an earlier look knew of a file, if it is still so.
fn reusable(file: &KnownFile, stamp: &FileStamp, blobs: &BlobStore) -> Option<FileContent> {
    is_reusable(file, stamp, blobs).then(|| file.content.clone())
}

/// Tells whether what an earlier look knew of a file is still so.
pub(super) fn is_reusable(file: &KnownFile, stamp: &FileStamp, blobs: &BlobStore) -> bool {
    let is_same = file.is_settled && file.stamp == *stamp;
    is_same
        && match &file.content {
            FileContent::Kept(sha256) => blobs.has(sha256),
            FileContent::Object(_)
            | FileContent::Link(_)
            | FileContent::Unkept(UnkeptReason::TooLarge | UnkeptReason::Special) => true,
            FileContent::Repository
            | FileContent::Unkept(UnkeptReason::TooMany | UnkeptReason::Unreadable) => false,
        }
}

/// What one look may still read.
#[derive(Debug)]
struct ReadBudget {
    files: usize,
    bytes: u64,
    left_over: usize,
}

impl Default for ReadBudget {
    fn default() -> Self {
        Self {
            files: UNDO_LOOK_FILES_MAX,
            bytes: UNDO_LOOK_BYTES_MAX,
            left_over: 0,
        }
    }
}

impl ReadBudget {
    fn for_comparing() -> Self {
        Self {
            files: UNDO_LOOK_COMPARED_FILES_MAX,
            bytes: UNDO_LOOK_COMPARED_BYTES_MAX,
            left_over: 0,
        }
    }

    fn take(&mut self, bytes: u64) -> bool {
        let has_room = self.files > 0 && bytes <= self.bytes;
        if has_room {
            self.files -= 1;
            self.bytes -= bytes;
        } else {
            self.left_over += 1;
        }
        has_room
    }
}

fn keep(
    path: &[u8],
    stamp: FileStamp,
    walk: &mut FileWalk<'_>,
    blobs: &BlobStore,
    room: &mut ReadBudget,
) -> io::Result<(FileStamp, FileContent)> {
    let unkept = |reason| Ok((stamp, FileContent::Unkept(reason)));
    if stamp.is_link() {
        return match walk.link(path) {
            Ok(target) => Ok((stamp, FileContent::Link(target.into()))),
            Err(_) => unkept(UnkeptReason::Unreadable),
        };
    }
    if !stamp.is_regular() {
        return unkept(UnkeptReason::Special);
    }
    if stamp.size > UNDO_FILE_BYTES_MAX {
        return unkept(UnkeptReason::TooLarge);
    }
    if !room.take(stamp.size) {
        return unkept(UnkeptReason::TooMany);
    }
    match walk.read(path) {
        Ok((stamp, content)) => Ok((stamp, FileContent::Kept(blobs.keep_bytes(&content)?))),
        Err(_) => unkept(UnkeptReason::Unreadable),
    }
}
