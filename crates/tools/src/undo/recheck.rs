//! Looking again at the files of an earlier look.
//!
//! While the index, the rules about ignored files and the directories are as they were, that look
//! names all files that there are. Then one `stat` for each tells which of them have to be looked
//! at closely, and neither git nor the index is needed for the others.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::assemble::is_reusable;
use super::blobs::BlobStore;
use super::listing::{KnownDirectory, ListingCheck, NewName};
use super::manifest::{FileContent, FileStamp, KnownFile, TreeManifest};
use super::scan::{FileWalk, WorkTree};
use crate::blocking::WorkDeadline;
use crate::limits::THREAD_FILES_MIN;

/// What is looked at again.
#[derive(Debug)]
pub(super) struct TreeRecheck {
    pub root: PathBuf,
    pub known: Arc<TreeManifest>,
    pub blobs: Arc<BlobStore>,
    pub now_ns: i64,
    pub stop: WorkDeadline,
}

/// What is not, or not surely, as the earlier look has it.
#[derive(Debug, Default)]
pub(super) struct RecheckedTree {
    /// Where git looks, as it is now.
    pub directories: Vec<KnownDirectory>,
    /// Names of which only git knows whether they count.
    pub new: Vec<NewName>,
    /// Files that have to be looked at closely, by their numbers.
    pub touched: Vec<(usize, FileStamp)>,
    /// The numbers of files that are not there any more, sorted.
    pub gone: Vec<usize>,
}

/// What one `stat` says of a file.
enum FileRecheck {
    Same,
    Touched(FileStamp),
    Gone,
}

impl TreeRecheck {
    /// `None` if git has to list all files. Blocks on the file system.
    pub(super) fn run(&self) -> io::Result<Option<RecheckedTree>> {
        let Some(listing) = &self.known.listing else {
            return Ok(None);
        };
        let tree = WorkTree::open(&self.root)?;
        let checked = listing.check(&tree, &self.known, self.now_ns, &self.stop)?;
        let ListingCheck::Holds { directories, new } = checked else {
            return Ok(None);
        };
        let mut rechecked = RecheckedTree {
            directories,
            new,
            ..RecheckedTree::default()
        };
        let files = &self.known.files;
        let found = tree.spread(files, THREAD_FILES_MIN, &self.stop, |walk, file| {
            self.check(walk, file)
        })?;
        for (number, found) in found.into_iter().enumerate() {
            match found {
                FileRecheck::Same => {}
                FileRecheck::Touched(stamp) => rechecked.touched.push((number, stamp)),
                FileRecheck::Gone => rechecked.gone.push(number),
            }
        }
        Ok(Some(rechecked))
    }

    fn check(&self, walk: &mut FileWalk<'_>, file: &KnownFile) -> FileRecheck {
        let Some(stamp) = walk.stamp(&file.path) else {
            return FileRecheck::Gone;
        };
        let is_same = match file.content {
            // Whether it is one still, its directory has told.
            FileContent::Repository => stamp.is_directory(),
            FileContent::Object(_)
            | FileContent::Kept(_)
            | FileContent::Link(_)
            | FileContent::Unkept(_) => is_reusable(file, &stamp, &self.blobs),
        };
        if is_same {
            FileRecheck::Same
        } else {
            FileRecheck::Touched(stamp)
        }
    }
}

impl RecheckedTree {
    /// Tells whether nothing has to be looked at closely.
    pub(super) fn is_as_before(&self) -> bool {
        self.new.is_empty() && self.touched.is_empty()
    }
}
