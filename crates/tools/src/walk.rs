//! Walking a tree the way a programmer sees it: without what git ignores.

use std::path::Path;

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};

use crate::file;

/// Walks files and directories below `root`, in order of their names. Hidden files are part
/// of a project; `.git` is not.
pub(crate) fn project(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.hidden(false)
        .require_git(false)
        .sort_by_file_name(Ord::cmp)
        .filter_entry(is_not_git_dir);
    walk
}

pub(crate) fn is_not_git_dir(entry: &DirEntry) -> bool {
    // The directory that was asked for is walked whatever its name is.
    entry.depth() == 0 || entry.file_name() != ".git"
}

/// Chooses paths by a glob with the rules of `.gitignore`: without a slash it matches a name at
/// any depth, with one it starts at the root. It is asked beside the walk, not given to it:
/// there it would bring ignored files back.
#[derive(Debug)]
pub(crate) struct PathGlob(Override);

impl PathGlob {
    pub(crate) fn new(root: &Path, pattern: &str) -> Result<Self, String> {
        let problem = |error: &dyn std::fmt::Display| format!("bad glob {pattern:?}: {error}");
        if pattern.is_empty() || pattern.starts_with('!') {
            return Err(problem(
                &"write what to find, such as \"*.rs\" or \"src/**/*.rs\"",
            ));
        }
        let mut builder = OverrideBuilder::new(root);
        builder.add(pattern).map_err(|error| problem(&error))?;
        builder.build().map(Self).map_err(|error| problem(&error))
    }

    pub(crate) fn matches(&self, path: &Path) -> bool {
        self.0.matched(path, false).is_whitelist()
    }
}

pub(crate) fn check_directory(path: &Path) -> Result<(), String> {
    let metadata = std::fs::metadata(path).map_err(|error| file::problem("list", path, &error))?;
    if metadata.is_dir() {
        Ok(())
    } else {
        Err(format!("{} is not a directory", path.display()))
    }
}

/// Said when a walk took too long.
pub(crate) const OUT_OF_TIME: &str = "[out of time, there may be more; use a smaller directory]";

/// Says how a search ended before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkEnd {
    Finished,
    Full,
    OutOfTime,
}

#[cfg(test)]
mod tests;
