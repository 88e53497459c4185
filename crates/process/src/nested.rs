//! Repositories and settings of projects deeper in the workspaces, found before a policy is first
//! used, so that they can be mounted read-only like those directly in a root.
//!
//! Git looks into the repositories inside a repository, and what they are configured to run is then
//! run for the user, outside of any sandbox. Only mounts protect them, and only what exists can be
//! mounted over: hence a search, outer directories first, which ends at its limits and says so.
//!
//! Temporary directories are searched a few levels deep. Not searched: what is protected or hidden
//! anyway, and what symlinks lead to, except that where a `.git` leads to is protected like the `.git` itself.

mod gitlinks;
mod planted;
mod temporary;

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::fs::{DirEntry, FileType, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::unistd::geteuid;

pub use gitlinks::gitlinks;

use crate::cage::Cage;
use crate::holder_pool::FileId;
use crate::limits::{
    NESTED_DEPTH_MAX, NESTED_ENTRIES_MAX, NESTED_EXPECTED_MAX, NESTED_PATHS_MAX, NESTED_PLAIN_MAX,
    NESTED_SEARCH_MS_MAX,
};
use crate::placeholder::{self, holds_repository, is_empty, is_placeholder};
use crate::roots::{PROTECTED_NAMES, git_directories, resolve};

/// What a search found.
#[derive(Debug, Default)]
pub(crate) struct NestedPaths {
    /// Directories and files.
    pub mountable: Vec<PathBuf>,
    /// Symlinks, over which nothing can be mounted, and names where nothing is and nothing may
    /// come.
    pub links: Vec<PathBuf>,
    /// Directories in temporary ones. They come and go, and are looked for once.
    pub temporary: Vec<PathBuf>,
    /// Directories of repositories that are the top of none.
    plain: Vec<PathBuf>,
    /// Where these are.
    workspaces: Vec<PathBuf>,
    /// None if everything was seen.
    pub stopped: Option<UnfinishedSearch>,
    /// What the paths were, first the mountable ones.
    files: Vec<Option<FileId>>,
    /// What an earlier search found and is not there now. It is looked for again when it is back.
    gone: Vec<PathBuf>,
}

/// Why a search has not seen everything.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UnfinishedSearch {
    workspace: PathBuf,
    why: String,
}

impl fmt::Display for UnfinishedSearch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workspace = self.workspace.display();
        write!(f, "the search of {workspace} {}", self.why)
    }
}

impl NestedPaths {
    /// Says whether what was found is still what is there.
    pub fn is_current(&self) -> bool {
        let paths = self.mountable.iter().chain(&self.links);
        paths.zip(&self.files).all(|(path, file)| id(path) == *file)
            && self.gone.iter().all(|path| id(path).is_none())
    }

    /// Keeps in mind what an earlier search has found, so that a repository which is removed and
    /// made again by its user is not taken for a new one.
    pub fn remembering(mut self, earlier: &Self) -> Self {
        let paths = earlier.mountable.iter().chain(&earlier.links);
        let gone = paths.chain(&earlier.gone).filter(|path| id(path).is_none());
        self.gone = gone.take(NESTED_PATHS_MAX).cloned().collect();
        self
    }

    pub fn count(&self) -> usize {
        self.mountable.len() + self.links.len()
    }
}

fn id(path: &Path) -> Option<FileId> {
    placeholder::metadata(path).ok().as_ref().map(FileId::new)
}

/// Searches the workspaces of a cage. Blocks: some milliseconds for some ten thousand files.
pub(crate) fn search(cage: &Cage) -> NestedPaths {
    let mut search = NestedSearch {
        cage,
        workspace: Path::new("/"),
        found: NestedPaths::default(),
        expected: HashSet::new(),
        known: [&cage.protected, &cage.writable]
            .into_iter()
            .flatten()
            .cloned()
            .collect(),
        room: NESTED_EXPECTED_MAX,
        entries: 0,
        until: Instant::now() + Duration::from_millis(NESTED_SEARCH_MS_MAX),
    };
    // First what git will look into, so that no number of other repositories takes its place.
    for workspace in &cage.workspaces {
        search.workspace = workspace;
        let places = gitlinks::below(workspace);
        if search.expect_repositories(places).is_err() {
            break;
        }
    }
    search.room = search.found.count() + NESTED_PATHS_MAX;
    for workspace in &cage.workspaces {
        search.workspace = workspace;
        search.run();
    }
    let mut found = search.found;
    found.workspaces.clone_from(&cage.workspaces);
    found.temporary = temporary::repositories(cage);
    let paths = found.mountable.iter().chain(&found.links);
    found.files = paths.map(|path| id(path)).collect();
    found
}

struct NestedSearch<'a> {
    cage: &'a Cage,
    workspace: &'a Path,
    found: NestedPaths,
    /// Where an index names a repository: mounts hold these, and their users may fill them.
    expected: HashSet<PathBuf>,
    /// What is protected already. Those directly in a root are, and what was asked for by name is
    /// not to be.
    known: HashSet<PathBuf>,
    /// How much may be found, as yet.
    room: usize,
    entries: usize,
    until: Instant,
}

/// A limit was met.
struct SearchLimitReached;

impl NestedSearch<'_> {
    fn run(&mut self) {
        // Whoever may write everything needs none of this; and a repository was asked for by name.
        if self.workspace.parent().is_none() {
            return self.stop("is left out: it is the whole disk".to_owned());
        }
        if self.workspace.ends_with(".git") {
            return;
        }
        let is_below_repository = self.workspace.ancestors().any(holds_repository);
        let mut open = VecDeque::from([(self.workspace.to_path_buf(), 0, is_below_repository)]);
        while let Some((directory, depth, is_below_repository)) = open.pop_front() {
            if Instant::now() > self.until {
                return self.stop(format!("stopped after {NESTED_SEARCH_MS_MAX} ms"));
            }
            let mut inside = Vec::new();
            let Ok(has_repository) = self.look_in(&directory, &mut inside) else {
                return;
            };
            // Git looks into it, and from it into those that it has.
            if has_repository && depth > 0 && !self.expected.contains(&directory) {
                let places = gitlinks::inside(&directory);
                if self.expect_repositories(places).is_err() {
                    return;
                }
            }
            let is_below = is_below_repository || has_repository;
            if depth < NESTED_DEPTH_MAX {
                open.extend(inside.into_iter().map(|path| (path, depth + 1, is_below)));
            } else if !inside.is_empty() {
                self.stop(format!("went no deeper than {NESTED_DEPTH_MAX}"));
            }
            // At the top of a workspace the name is held.
            let is_plain = is_below_repository && !has_repository && depth > 0;
            if is_plain
                && !self.expected.contains(&directory)
                && self.found.plain.len() < NESTED_PLAIN_MAX
            {
                self.found.plain.push(directory);
            }
        }
    }

    /// Protects places where repositories belong, and those where these have others: git goes from
    /// one to the next.
    fn expect_repositories(&mut self, places: Vec<PathBuf>) -> Result<(), SearchLimitReached> {
        let mut open = VecDeque::from(places);
        while let Some(place) = open.pop_front() {
            if self.expected.contains(&place) {
                continue;
            }
            self.protect_expected_repository(&place)?;
            if holds_repository(&place) {
                open.extend(gitlinks::inside(&place));
            }
            self.expected.insert(place);
        }
        Ok(())
    }

    /// Protects a place where a repository belongs. One that is not there yet must not come: its
    /// name is kept free, or that of the first directory on the way that is missing, and an empty
    /// directory is kept as it is.
    fn protect_expected_repository(&mut self, place: &Path) -> Result<(), SearchLimitReached> {
        let kind = |path: &Path| Some(placeholder::metadata(path).ok()?.file_type());
        let below = place.strip_prefix(self.workspace).unwrap_or(place);
        let mut way = self.workspace.to_path_buf();
        for part in below {
            way.push(part);
            match kind(&way) {
                Some(kind) if kind.is_dir() => {}
                Some(kind) if !kind.is_symlink() => return self.add(&way),
                Some(_) | None => return self.add_link(&way),
            }
        }
        let git = place.join(".git");
        match kind(&git) {
            Some(kind) => self.note(&git, kind),
            None if is_empty(place) => self.add(place),
            None => self.add_link(&git),
        }
    }

    /// Notes what is protected in a directory and lists the other directories. Tells whether it
    /// has a `.git`.
    fn look_in(
        &mut self,
        directory: &Path,
        inside: &mut Vec<PathBuf>,
    ) -> Result<bool, SearchLimitReached> {
        let entries = match directory.read_dir() {
            Ok(entries) => entries,
            Err(error) => {
                self.note_unlistable(directory, &error)?;
                return Ok(holds_repository(directory));
            }
        };
        let mut has_repository = false;
        for entry in entries.flatten() {
            self.entries += 1;
            if self.entries > NESTED_ENTRIES_MAX {
                self.stop(format!("stopped after {NESTED_ENTRIES_MAX} files"));
                return Err(SearchLimitReached);
            }
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if is_protected(&entry) {
                let path = entry.path();
                if !is_placeholder(&path) {
                    has_repository |= entry.file_name() == ".git";
                    self.note(&path, kind)?;
                }
            } else if kind.is_dir() {
                let path = entry.path();
                if !self.is_left_out(&path) {
                    inside.push(path);
                }
            }
        }
        Ok(has_repository)
    }

    /// A directory that cannot be listed can still be used by who knows the names. Its owner, whom
    /// commands run as, could have made it so.
    fn note_unlistable(
        &mut self,
        directory: &Path,
        error: &io::Error,
    ) -> Result<(), SearchLimitReached> {
        let Ok(metadata) = directory.symlink_metadata() else {
            return Ok(());
        };
        if !metadata.is_dir() || metadata.uid() != geteuid().as_raw() {
            return Ok(());
        }
        self.stop(format!("could not read {}: {error}", directory.display()));
        for path in PROTECTED_NAMES.map(|name| directory.join(name)) {
            let kind = path.symlink_metadata().map(|it: Metadata| it.file_type());
            if let Ok(kind) = kind {
                self.note(&path, kind)?;
            }
        }
        Ok(())
    }

    /// Protects a path, and what it stands for if it is a link or points to a repository.
    fn note(&mut self, path: &Path, kind: FileType) -> Result<(), SearchLimitReached> {
        if kind.is_symlink() {
            self.add_link(path)?;
            return self.add_target(&resolve(path));
        }
        self.add(path)?;
        let pointed = match (kind.is_file(), path.parent()) {
            (true, Some(directory)) => git_directories(directory),
            _ => Vec::new(),
        };
        pointed.iter().try_for_each(|path| self.add_target(path))
    }

    fn add_link(&mut self, path: &Path) -> Result<(), SearchLimitReached> {
        if !self.known.contains(path) && self.can_be_named(path) {
            self.make_room()?;
            self.known.insert(path.to_path_buf());
            self.found.links.push(path.to_path_buf());
        }
        Ok(())
    }

    /// Its holder is told of it in text.
    fn can_be_named(&mut self, path: &Path) -> bool {
        let is_text = path.to_str().is_some();
        if !is_text {
            let path = path.display();
            self.stop(format!("left out {path}: the name is not UTF-8"));
        }
        is_text
    }

    fn add(&mut self, path: &Path) -> Result<(), SearchLimitReached> {
        if !self.known.contains(path) && self.can_be_named(path) {
            self.make_room()?;
            self.known.insert(path.to_path_buf());
            self.found.mountable.push(path.to_path_buf());
        }
        Ok(())
    }

    /// A command may have written the pointer: only what looks like a repository counts, and
    /// nothing that a root lies in, which would be read-only then.
    fn add_target(&mut self, path: &Path) -> Result<(), SearchLimitReached> {
        let roots = &self.cage.writable;
        let is_inside = roots.iter().any(|root| path.starts_with(root));
        let is_around = roots.iter().any(|root| root.starts_with(path));
        if is_inside && !is_around && path.join("HEAD").exists() {
            return self.add(path);
        }
        Ok(())
    }

    /// Other workspaces have a search of their own.
    fn is_left_out(&self, path: &Path) -> bool {
        let left_out = [
            &self.cage.hidden,
            &self.cage.protected,
            &self.cage.workspaces,
        ];
        left_out.into_iter().flatten().any(|it| it == path)
    }

    fn make_room(&mut self) -> Result<(), SearchLimitReached> {
        if self.found.count() < self.room {
            return Ok(());
        }
        self.stop(format!("stopped at {} of them", self.room));
        Err(SearchLimitReached)
    }

    /// The first reason is told.
    fn stop(&mut self, why: String) {
        let workspace = self.workspace.to_path_buf();
        self.found
            .stopped
            .get_or_insert(UnfinishedSearch { workspace, why });
    }
}

fn is_protected(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    PROTECTED_NAMES.iter().any(|it| name == *it)
}

#[cfg(test)]
mod tests;
