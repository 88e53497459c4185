//! Repositories that have come to directories of a repository which had none when the policy was
//! set up.
//!
//! The calls that make one are refused as they are reported (`holder/denial_monitor/planting.rs`),
//! but a thread can change a path in memory while the kernel reads it, and a directory with a
//! repository can be given the name of an old one. However it was done, it is seen by the name
//! afterwards. It is moved aside: a person who changes into a directory that was always there
//! must not have git obey what a command wrote.

use std::path::{Path, PathBuf};

use super::NestedPaths;
use crate::holder::put_aside;
use crate::placeholder;

impl NestedPaths {
    /// Tells whether there are directories to look at again.
    pub fn has_plain_directories(&self) -> bool {
        !self.plain.is_empty()
    }

    /// Moves repositories aside that are where none was. Returns what they were, for people.
    /// Blocks: about a microsecond for each directory.
    pub fn put_planted_aside(&self) -> Vec<String> {
        let planted = self.plain.iter().filter_map(|it| self.planted_at(it));
        planted.filter_map(|it| put_aside(&it, ".git")).collect()
    }

    /// Returns where the repository is that one would find in a directory, if a command can have
    /// brought it there. The directory may be a link by now; it leads to somebody else's
    /// repository outside of the workspaces, and to one that was there before when that is known.
    fn planted_at(&self, directory: &Path) -> Option<PathBuf> {
        placeholder::metadata(&directory.join(".git")).ok()?;
        let real = directory.canonicalize().ok()?;
        let git = real.join(".git");
        let is_inside = self.workspaces.iter().any(|it| real.starts_with(it));
        let mut known = self.mountable.iter().chain(&self.links);
        (is_inside && !known.any(|it| *it == git)).then_some(real)
    }
}
