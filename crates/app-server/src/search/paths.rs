//! What there is to find: a walk as a programmer sees a tree, without what git ignores.

use std::path::PathBuf;

use ignore::{DirEntry, WalkBuilder};
use tokio_util::sync::CancellationToken;

use crate::limits::SEARCH_PATHS_MAX;
use crate::wire::search::FuzzyFileSearchMatchType as Kind;

/// A file or directory below a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundPath {
    /// The number of the root.
    pub root: usize,
    /// Relative to it.
    pub path: Box<str>,
    pub kind: Kind,
}

/// Walks the roots, one after the other, until all is seen, enough is, or somebody says stop.
/// What cannot be read is left out. Blocks on the file system.
pub(super) fn walk(roots: &[PathBuf], stop: &CancellationToken, mut each: impl FnMut(FoundPath)) {
    let found = roots.iter().enumerate().flat_map(|(number, root)| {
        let mut walk = WalkBuilder::new(root);
        walk.hidden(false)
            .require_git(false)
            .filter_entry(is_not_git_dir);
        let entries = walk.build().filter_map(Result::ok);
        entries.filter_map(move |entry| {
            let path = entry.path().strip_prefix(root).ok()?;
            let path: Box<str> = path.to_string_lossy().into();
            let kind = if entry.file_type()?.is_dir() {
                Kind::Directory
            } else {
                Kind::File
            };
            let root = number;
            (!path.is_empty()).then_some(FoundPath { root, path, kind })
        })
    });
    for found in found.take(SEARCH_PATHS_MAX) {
        if stop.is_cancelled() {
            return;
        }
        each(found);
    }
}

fn is_not_git_dir(entry: &DirEntry) -> bool {
    entry.depth() == 0 || entry.file_name() != ".git"
}
