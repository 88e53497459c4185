//! Which files there are, remembered from one look to the next.
//!
//! Git finds what it does not track by going through every directory. Names come and go in a
//! directory only with its times, so the list of an earlier look holds while these, the index and
//! the rules about ignored files are as they were. A directory with other times is read here, and
//! git is asked about the names that are new in it.

use std::collections::BTreeSet;
use std::io;

use nix::dir::Type;

use super::manifest::{FileContent, FileStamp, TreeManifest};
use super::scan::{DirectoryEntry, FileWalk, WorkTree};
use crate::blocking::WorkDeadline;
use crate::limits::UNDO_NEW_NAMES_MAX;

/// Where rules about ignored files are, in any directory.
const IGNORE_FILE: &str = ".gitignore";

/// Directories that one thread asks for, at least.
const THREAD_DIRECTORIES_MIN: usize = 200;

/// What must not have changed for the files of a look to be all that there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileListing {
    /// A hash of all that counts beside the directories: the index, rules that are elsewhere, and
    /// which part of the work tree is looked at. `None` if that may change without being seen.
    pub basis: Option<[u8; 32]>,
    /// Each directory in which git looks, sorted; the top has no name.
    pub directories: Vec<KnownDirectory>,
    /// Directories in which it does not look, because they are ignored. Sorted.
    pub ignored: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownDirectory {
    /// Relative to the top of the work tree.
    pub path: Vec<u8>,
    pub stamp: FileStamp,
    pub ignore_file: Option<FileStamp>,
    /// It had been left alone for a while, so that the same stamps mean the same names and rules.
    pub is_settled: bool,
}

/// What became of a listing.
#[derive(Debug)]
pub(super) enum ListingCheck {
    /// It holds, but for these names, of which only git knows whether they count.
    Holds {
        directories: Vec<KnownDirectory>,
        new: Vec<NewName>,
    },
    /// Git has to list everything.
    Outdated,
}

/// A name that was not there at the last look, or that git ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NewName {
    pub path: Vec<u8>,
    pub is_directory: bool,
}

/// What reading one directory again came to.
enum DirectoryReread {
    Same(KnownDirectory),
    Differs(KnownDirectory, Vec<NewName>),
    Gone,
    Outdated,
}

impl FileListing {
    /// Compares the directories with those of the last look. Blocks on the file system.
    pub(super) fn check(
        &self,
        tree: &WorkTree,
        files: &TreeManifest,
        now_ns: i64,
        stop: &WorkDeadline,
    ) -> io::Result<ListingCheck> {
        let reread = tree.spread(
            &self.directories,
            THREAD_DIRECTORIES_MIN,
            stop,
            |walk, it| self.reread(it, walk, files, now_ns),
        )?;
        let mut directories = Vec::with_capacity(reread.len());
        let mut new = Vec::new();
        for reread in reread {
            match reread {
                DirectoryReread::Same(directory) => directories.push(directory),
                DirectoryReread::Differs(directory, names) => {
                    directories.push(directory);
                    new.extend(names);
                }
                DirectoryReread::Gone => {}
                DirectoryReread::Outdated => return Ok(ListingCheck::Outdated),
            }
        }
        Ok(if new.len() > UNDO_NEW_NAMES_MAX {
            ListingCheck::Outdated
        } else {
            ListingCheck::Holds { directories, new }
        })
    }

    fn reread(
        &self,
        known: &KnownDirectory,
        walk: &mut FileWalk<'_>,
        files: &TreeManifest,
        now_ns: i64,
    ) -> DirectoryReread {
        let Some(directory) = KnownDirectory::look(&known.path, walk, now_ns) else {
            return DirectoryReread::Gone;
        };
        let has_same_rules = directory.ignore_file == known.ignore_file
            && (known.is_settled || known.ignore_file.is_none());
        if !has_same_rules {
            return DirectoryReread::Outdated;
        }
        if known.is_settled && directory.stamp == known.stamp {
            return DirectoryReread::Same(directory);
        }
        let repository = files.find(&known.path);
        if repository.is_some_and(|file| file.content == FileContent::Repository) {
            // It may be one no longer.
            return DirectoryReread::Outdated;
        }
        let Ok(names) = walk.names(&known.path) else {
            return DirectoryReread::Outdated;
        };
        let mut new = Vec::new();
        for entry in names {
            if entry.name == b".git" {
                if known.path.is_empty() {
                    continue;
                }
                return DirectoryReread::Outdated;
            }
            let Some(name) = NewName::of(&known.path, &entry) else {
                return DirectoryReread::Outdated;
            };
            if !self.knows(&name, files) {
                new.push(name);
            }
        }
        DirectoryReread::Differs(directory, new)
    }

    fn knows(&self, name: &NewName, files: &TreeManifest) -> bool {
        let file = files.find(&name.path);
        let is_repository = file.is_some_and(|file| file.content == FileContent::Repository);
        if !name.is_directory {
            return file.is_some() && !is_repository;
        }
        let directories = &self.directories;
        is_repository
            || self.ignored.binary_search(&name.path).is_ok()
            || directories
                .binary_search_by(|it| it.path.cmp(&name.path))
                .is_ok()
    }
}

impl KnownDirectory {
    /// `None` if there is none.
    pub(super) fn look(path: &[u8], walk: &mut FileWalk<'_>, now_ns: i64) -> Option<Self> {
        let (stamp, ignore_file) = walk.directory(path, IGNORE_FILE)?;
        let is_settled =
            stamp.is_settled(now_ns) && ignore_file.is_none_or(|it| it.is_settled(now_ns));
        Some(Self {
            path: path.to_vec(),
            stamp,
            ignore_file,
            is_settled,
        })
    }
}

impl NewName {
    /// `None` where the file system does not say what it is.
    fn of(directory: &[u8], entry: &DirectoryEntry) -> Option<Self> {
        let path = match directory {
            [] => entry.name.clone(),
            directory => [directory, b"/", &entry.name].concat(),
        };
        let is_directory = entry.kind? == Type::Directory;
        Some(Self { path, is_directory })
    }
}

/// Collects the directories of a list that git has made.
#[derive(Debug, Default)]
pub(super) struct DirectoryCollector {
    paths: BTreeSet<Vec<u8>>,
    known: Vec<KnownDirectory>,
    ignored: Vec<Vec<u8>>,
}

impl DirectoryCollector {
    /// Takes those of an earlier list that holds.
    pub(super) fn from_known(known: Vec<KnownDirectory>, ignored: Vec<Vec<u8>>) -> Self {
        let paths = known.iter().map(|it| &it.path).chain(&ignored);
        Self {
            paths: paths.cloned().collect(),
            known,
            ignored,
        }
    }

    pub(super) fn contains(&self, path: &[u8]) -> bool {
        self.paths.contains(path)
    }

    pub(super) fn add_ignored(&mut self, paths: impl IntoIterator<Item = Vec<u8>>) {
        let new = self.add(paths);
        self.ignored.extend(new);
    }

    /// Takes those above files, as far as they are looked at. The files come sorted. Returns the
    /// ones that are new here.
    pub(super) fn add_above<'a>(
        &mut self,
        files: impl Iterator<Item = &'a [u8]>,
        is_seen: impl Fn(&[u8]) -> bool,
    ) -> Vec<Vec<u8>> {
        let mut new = Vec::new();
        let mut last: &[u8] = &[];
        for file in files {
            let mut above = parent(file);
            if above == Some(last) {
                continue;
            }
            last = above.unwrap_or_default();
            while let Some(directory) = above {
                if !is_seen(directory) || !self.paths.insert(directory.to_vec()) {
                    break;
                }
                new.push(directory.to_vec());
                above = parent(directory);
            }
        }
        new
    }

    /// Takes these, and returns those that are new here.
    pub(super) fn add(&mut self, paths: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
        let new = paths.into_iter();
        new.filter(|path| self.paths.insert(path.clone())).collect()
    }

    /// Looks at new directories and returns those in them that nobody has named. `None` if what
    /// they hold cannot be told. Blocks on the file system.
    pub(super) fn read(
        &mut self,
        mut new: Vec<Vec<u8>>,
        repositories: &BTreeSet<Vec<u8>>,
        tree: &WorkTree,
        now_ns: i64,
        stop: &WorkDeadline,
    ) -> Option<Vec<Vec<u8>>> {
        new.sort();
        let read = |walk: &mut FileWalk<'_>, path: &Vec<u8>| {
            let directory = KnownDirectory::look(path, walk, now_ns)?;
            let names = if repositories.contains(path) {
                Vec::new()
            } else {
                walk.names(path).ok()?
            };
            let mut below = Vec::new();
            for entry in names {
                match entry.name.as_slice() {
                    b".git" if path.is_empty() => {}
                    // Git may or may not go into it.
                    b".git" => return None,
                    _ => {
                        let name = NewName::of(path, &entry)?;
                        below.extend(name.is_directory.then_some(name.path));
                    }
                }
            }
            Some((directory, below))
        };
        let mut unnamed = Vec::new();
        for read in tree.spread(&new, THREAD_DIRECTORIES_MIN, stop, read).ok()? {
            let (directory, below) = read?;
            self.known.push(directory);
            let below = below.into_iter();
            unnamed.extend(below.filter(|path| !self.paths.contains(path)));
        }
        Some(unnamed)
    }

    pub(super) fn into_listing(mut self, basis: Option<[u8; 32]>) -> FileListing {
        self.known.sort_by(|one, other| one.path.cmp(&other.path));
        self.ignored.sort();
        FileListing {
            basis,
            directories: self.known,
            ignored: self.ignored,
        }
    }
}

/// The directory of a path; that of a name alone is the top.
fn parent(path: &[u8]) -> Option<&[u8]> {
    match memchr::memrchr(b'/', path) {
        Some(at) => Some(&path[..at]),
        None if path.is_empty() => None,
        None => Some(&[]),
    }
}

#[cfg(test)]
mod tests;
