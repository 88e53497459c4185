//! Whether git may keep other bytes of a file than are on disk, as attributes tell.

use std::path::PathBuf;

use super::git;
use super::scan::WorkTree;

/// How much the contents on disk may differ from those that git keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ContentConversion {
    None,
    /// Then they have another length.
    Length,
    /// Perhaps with the same length.
    Contents,
}

/// Where attributes are given to files.
#[derive(Debug)]
pub(super) struct AttributeFiles {
    pub root: PathBuf,
    /// Those of the work tree, relative to its top.
    pub files: Vec<Vec<u8>>,
    /// Those of the user and of the machine.
    pub beside: [Option<PathBuf>; 2],
    pub of_repository: Vec<u8>,
}

impl AttributeFiles {
    /// Tells what they may name at most. Blocks on the file system.
    pub(super) fn conversion(self) -> ContentConversion {
        let of = |content: &[u8]| {
            if git::names_conversion(content) {
                ContentConversion::Contents
            } else if git::names_resizing(content) {
                ContentConversion::Length
            } else {
                ContentConversion::None
            }
        };
        let beside = self.beside.into_iter().flatten();
        let beside = beside.filter_map(|path| std::fs::read(path).ok());
        let found = beside.map(|content| of(&content)).max();
        let found = found
            .unwrap_or(ContentConversion::None)
            .max(of(&self.of_repository));
        let Ok(tree) = WorkTree::open(&self.root) else {
            return ContentConversion::Contents;
        };
        let mut walk = tree.walk();
        let files = self.files.iter().map(|path| match walk.read(path) {
            Ok((_, content)) => of(&content),
            // Git may be able to read it.
            Err(_) => ContentConversion::Contents,
        });
        files.max().unwrap_or(ContentConversion::None).max(found)
    }
}
