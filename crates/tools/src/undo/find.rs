//! Finding all files of a work tree: those that git tracks are looked at here, while git, or what
//! an earlier look knows, tells which others there are.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use troupe_process::GitReader;

use super::assemble::{GitTracking, ScannedFile};
use super::git;
use super::index::{EntryKind, GitIndex};
use super::listing::{DirectoryCollector, FileListing, ListingCheck, NewName};
use super::manifest::{FileContent, TreeManifest};
use super::scan::WorkTree;
use super::store::StampedIndex;
use crate::blocking::{self, WorkDeadline};
use crate::limits::{UNDO_NEW_NAMES_MAX, UNDO_UNNAMED_ROUNDS_MAX};

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
    /// What an earlier look found.
    pub known: Option<Arc<TreeManifest>>,
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

/// What is listed beside the index.
#[derive(Debug, Default)]
struct ListedFiles {
    /// A path that ends with a slash is a repository inside.
    paths: Vec<Vec<u8>>,
    directories: DirectoryCollector,
    /// Directories of which it is not known whether they are ignored.
    unnamed: Vec<Vec<u8>>,
}

impl FileFinder {
    pub(super) async fn find(&self) -> Result<FoundFiles, String> {
        let stamping = {
            let finder = self.clone();
            blocking::finish(move || finder.stamp_tracked())
        };
        let (listed, tracked) = tokio::join!(self.list(), stamping);
        let ListedFiles {
            paths,
            directories,
            unnamed,
        } = listed?;
        let mut files = tracked?.map_err(|error| not_seen(&error))?;
        let finder = self.clone();
        let files = blocking::finish(move || {
            if !paths.is_empty() {
                files.extend(finder.stamp_listed(paths)?);
                files.sort_by(|one, other| one.path.cmp(&other.path));
                files.dedup_by(|later, earlier| later.path == earlier.path);
            }
            Ok(files)
        });
        let files = files.await?.map_err(|error: io::Error| not_seen(&error))?;
        let listing = self.watch(&files, directories, unnamed).await;
        Ok(FoundFiles { files, listing })
    }

    async fn list(&self) -> Result<ListedFiles, String> {
        if let Some(listed) = self.list_again().await? {
            return Ok(listed);
        }
        let text = self.place.parts.iter().map(|part| part.to_str());
        // A name that is not text cannot be an argument: then all is listed, and left out below.
        let parts: Vec<&str> = text.collect::<Option<_>>().unwrap_or_default();
        let paths = git::list(&self.git, &parts, self.index.index.is_sparse()).await?;
        Ok(ListedFiles {
            paths,
            ..ListedFiles::default()
        })
    }

    /// Lists what an earlier look knows, and asks git about names that are new. `None` if that
    /// does not do.
    async fn list_again(&self) -> Result<Option<ListedFiles>, String> {
        let finder = self.clone();
        let checked = blocking::finish(move || finder.check_listing()).await?;
        let Some((mut listed, new)) = checked.map_err(|error| not_seen(&error))? else {
            return Ok(None);
        };
        if new.is_empty() {
            return Ok(Some(listed));
        }
        let text = new.iter().map(|name| str::from_utf8(&name.path).ok());
        let Some(names) = text.collect::<Option<Vec<&str>>>() else {
            return Ok(None);
        };
        listed
            .paths
            .extend(git::list(&self.git, &names, false).await?);
        let directories = new.into_iter().filter(|name| name.is_directory);
        listed.unnamed = directories.map(|name| name.path).collect();
        Ok(Some(listed))
    }

    fn check_listing(&self) -> io::Result<Option<(ListedFiles, Vec<NewName>)>> {
        let Some(known) = &self.known else {
            return Ok(None);
        };
        let listing = known.listing.as_ref();
        let Some(listing) = listing.filter(|it| it.basis.is_some() && it.basis == self.basis)
        else {
            return Ok(None);
        };
        let tree = WorkTree::open(&self.place.root)?;
        let checked = listing.check(&tree, known, self.now_ns, &self.stop)?;
        let ListingCheck::Holds { directories, new } = checked else {
            return Ok(None);
        };
        let listed = ListedFiles {
            paths: others(known, &self.index.index),
            directories: DirectoryCollector::from_known(directories, listing.ignored.clone()),
            unnamed: Vec::new(),
        };
        Ok(Some((listed, new)))
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
        let entries = self.index.index.entries.iter().enumerate();
        let entries: Vec<_> = entries
            .filter(|(_, entry)| entry.kind != EntryKind::SparseDirectory)
            .filter(|(_, entry)| self.place.contains(&entry.path))
            .collect();
        let paths: Vec<&[u8]> = entries
            .iter()
            .map(|(_, entry)| entry.path.as_slice())
            .collect();
        let stamps = WorkTree::open(&self.place.root)?.stamps(&paths, &self.stop)?;
        let found = entries.iter().zip(stamps);
        let found = found.filter_map(|((number, entry), stamp)| {
            Some(ScannedFile {
                path: entry.path.clone(),
                stamp: stamp?,
                standing: GitTracking::Tracked(*number),
            })
        });
        Ok(found.collect())
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

/// Lists what a look has and the index has not, as git would.
fn others(known: &TreeManifest, index: &GitIndex) -> Vec<Vec<u8>> {
    let mut tracked = index.entries.iter().peekable();
    let mut others = Vec::new();
    for file in &known.files {
        while tracked.next_if(|entry| entry.path < file.path).is_some() {}
        if tracked.peek().is_some_and(|entry| entry.path == file.path) {
            continue;
        }
        let mut path = file.path.clone();
        if file.content == FileContent::Repository {
            path.push(b'/');
        }
        others.push(path);
    }
    others
}

pub(super) fn not_seen(error: &io::Error) -> String {
    format!("the files cannot be looked at: {error}")
}
