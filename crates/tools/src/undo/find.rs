//! Finding all files of a work tree: those that git tracks are looked at here, while git tells
//! which others there are. Where an earlier look still names them, only what is new is found.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use troupe_process::GitReader;

use super::assemble::{GitTracking, ScannedFile};
use super::git;
use super::index::EntryKind;
use super::listing::{DirectoryCollector, FileListing};
use super::manifest::TreeManifest;
use super::recheck::RecheckedTree;
use super::scan::WorkTree;
use super::store::StampedIndex;
use crate::blocking::{self, WorkDeadline};
use crate::limits::{THREAD_FILES_MIN, UNDO_NEW_NAMES_MAX, UNDO_UNNAMED_ROUNDS_MAX};

/// A work tree, and what of it a turn may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WritableTree {
    pub root: PathBuf,
    /// Relative to the root; empty for all of it.
    pub parts: Vec<PathBuf>,
}

impl WritableTree {
    /// Tells whether a file or directory is looked at.
    fn contains(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        self.parts.is_empty() || self.parts.iter().any(|part| path.starts_with(part))
    }

    /// The directories in which it begins.
    fn tops(&self) -> Vec<Vec<u8>> {
        if self.parts.is_empty() {
            return vec![Vec::new()];
        }
        let parts = self.parts.iter();
        parts
            .map(|part| part.as_os_str().as_bytes().to_vec())
            .collect()
    }
}

/// What a search begins with.
#[derive(Debug, Clone)]
pub(super) struct FileFinder {
    pub place: WritableTree,
    pub git: GitReader,
    pub index: Arc<StampedIndex>,
    /// See [`FileListing`]; `None` if it is not known for sure.
    pub basis: Option<[u8; 32]>,
    pub now_ns: i64,
    pub stop: WorkDeadline,
}

#[derive(Debug)]
pub(super) struct FoundFiles {
    /// Sorted by path, each once.
    pub files: Vec<ScannedFile>,
    pub listing: Option<FileListing>,
}

impl FileFinder {
    /// Finds all files.
    pub(super) async fn find(&self) -> Result<FoundFiles, String> {
        let stamping = {
            let finder = self.clone();
            blocking::finish(move || finder.stamp_tracked())
        };
        let (listed, tracked) = tokio::join!(self.list(), stamping);
        let listed = listed?;
        let mut files = tracked?.map_err(|error| not_seen(&error))?;
        let finder = self.clone();
        let files = blocking::finish(move || {
            if !listed.is_empty() {
                files.extend(finder.stamp_listed(listed)?);
                sort(&mut files);
            }
            Ok(files)
        });
        let files = files.await?.map_err(|error: io::Error| not_seen(&error))?;
        let directories = DirectoryCollector::default();
        let listing = self.watch(&files, directories, Vec::new()).await;
        Ok(FoundFiles { files, listing })
    }

    /// Finds the files that have to be looked at closely after a look has been compared with what
    /// there is. `None` if git has to list all.
    pub(super) async fn find_changed(
        &self,
        known: &Arc<TreeManifest>,
        rechecked: RecheckedTree,
    ) -> Result<Option<FoundFiles>, String> {
        let RecheckedTree {
            directories,
            new,
            touched,
            gone: _,
        } = rechecked;
        let text = new.iter().map(|name| str::from_utf8(&name.path).ok());
        let Some(names) = text.collect::<Option<Vec<&str>>>() else {
            return Ok(None);
        };
        let listed = if names.is_empty() {
            Vec::new()
        } else {
            git::list(&self.git, &names, false).await?
        };
        let (finder, manifest) = (self.clone(), Arc::clone(known));
        let found = blocking::finish(move || {
            let mut files = finder.stamp_listed(listed)?;
            let index = &finder.index.index;
            for name in &new {
                files.extend(finder.stamp_entries(index.numbers_under(&name.path))?);
            }
            files.extend(touched.into_iter().map(|(number, stamp)| {
                let path = manifest.files[number].path.clone();
                let entry = index.number(&path);
                ScannedFile {
                    standing: entry.map_or(GitTracking::Untracked, GitTracking::Tracked),
                    path,
                    stamp,
                }
            }));
            sort(&mut files);
            let new = new.into_iter().filter(|name| name.is_directory);
            Ok((files, new.map(|name| name.path).collect()))
        });
        let found = found.await?.map_err(|error: io::Error| not_seen(&error));
        let (files, unnamed): (Vec<ScannedFile>, _) = found?;
        let ignored = known.listing.as_ref().map(|it| it.ignored.clone());
        let collected = DirectoryCollector::from_known(directories, ignored.unwrap_or_default());
        let listing = self.watch(&files, collected, unnamed).await;
        Ok(Some(FoundFiles { files, listing }))
    }

    /// Lists what git does not track; a path that ends with a slash is a repository inside.
    async fn list(&self) -> Result<Vec<Vec<u8>>, String> {
        let text = self.place.parts.iter().map(|part| part.to_str());
        // A name that is not text cannot be an argument: then all is listed, and left out below.
        let parts: Vec<&str> = text.collect::<Option<_>>().unwrap_or_default();
        git::list(&self.git, &parts, self.index.index.is_sparse()).await
    }

    /// Notes which directories must stay as they are for the list to hold at the next look; none
    /// if that cannot be said.
    async fn watch(
        &self,
        files: &[ScannedFile],
        mut collected: DirectoryCollector,
        mut unnamed: Vec<Vec<u8>>,
    ) -> Option<FileListing> {
        if self.index.index.is_sparse() {
            return None;
        }
        let paths = files.iter().map(|file| file.path.as_slice());
        let mut new = collected.add_above(paths, |path| self.place.contains(path));
        let repositories = files.iter().filter(|file| file.stamp.is_directory());
        let repositories: BTreeSet<_> = repositories.map(|file| file.path.clone()).collect();
        new.extend(collected.add(repositories.iter().cloned().chain(self.place.tops())));
        let repositories = Arc::new(repositories);
        for _ in 0..UNDO_UNNAMED_ROUNDS_MAX {
            let (finder, repositories) = (self.clone(), Arc::clone(&repositories));
            let read = blocking::finish(move || {
                let tree = WorkTree::open(&finder.place.root).ok()?;
                let found =
                    collected.read(new, &repositories, &tree, finder.now_ns, &finder.stop)?;
                Some((collected, found))
            });
            let (read, found) = read.await.ok()??;
            collected = read;
            unnamed.extend(found);
            unnamed.retain(|path| !collected.contains(path));
            if unnamed.is_empty() {
                return Some(collected.into_listing(self.basis));
            }
            if unnamed.len() > UNDO_NEW_NAMES_MAX {
                return None;
            }
            let ignored = git::ignored(&self.git, &unnamed).await.ok()?;
            unnamed.retain(|path| !ignored.contains(path));
            collected.add_ignored(ignored);
            new = collected.add(std::mem::take(&mut unnamed));
        }
        None
    }

    fn stamp_tracked(&self) -> io::Result<Vec<ScannedFile>> {
        self.stamp_entries(0..self.index.index.entries.len())
    }

    /// Looks at files that git tracks, by their numbers in the index.
    fn stamp_entries(&self, numbers: impl Iterator<Item = usize>) -> io::Result<Vec<ScannedFile>> {
        let entries = &self.index.index.entries;
        let numbers: Vec<usize> = numbers
            .filter(|number| entries[*number].kind != EntryKind::SparseDirectory)
            .filter(|number| self.place.contains(&entries[*number].path))
            .collect();
        let tree = WorkTree::open(&self.place.root)?;
        let found = tree.spread(&numbers, THREAD_FILES_MIN, &self.stop, |walk, number| {
            let path = &entries[*number].path;
            Some(ScannedFile {
                stamp: walk.stamp(path)?,
                path: path.clone(),
                standing: GitTracking::Tracked(*number),
            })
        })?;
        Ok(found.into_iter().flatten().collect())
    }

    /// A path that ends with a slash is a repository inside.
    fn stamp_listed(&self, mut listed: Vec<Vec<u8>>) -> io::Result<Vec<ScannedFile>> {
        listed.retain(|path| self.place.contains(path));
        listed.sort();
        let plain: Vec<&[u8]> = listed
            .iter()
            .map(|path| path.strip_suffix(b"/").unwrap_or(path))
            .collect();
        let stamps = WorkTree::open(&self.place.root)?.stamps(&plain, &self.stop)?;
        let found = plain.iter().zip(&listed).zip(stamps);
        let found = found.filter_map(|((path, listed), stamp)| {
            Some(ScannedFile {
                path: path.to_vec(),
                stamp: stamp?,
                standing: match self.index.index.number(path) {
                    _ if path.len() < listed.len() => GitTracking::Repository,
                    Some(number) => GitTracking::Tracked(number),
                    None => GitTracking::Untracked,
                },
            })
        });
        Ok(found.collect())
    }
}

/// Brings files in order; of one that was found twice the first counts.
fn sort(files: &mut Vec<ScannedFile>) {
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files.dedup_by(|later, earlier| later.path == earlier.path);
}

pub(super) fn not_seen(error: &io::Error) -> String {
    format!("the files cannot be looked at: {error}")
}
