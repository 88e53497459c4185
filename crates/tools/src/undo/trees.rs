//! Looks at work trees: what each file holds at one moment, and what differs later.
//!
//! The user's index is where a look begins: of a file that nobody touched since git looked,
//! git has the contents. So a first look at a large repository costs one `stat` per file, like
//! every later one; only what is in no commit is read, once. Git is asked, in the sandbox, which
//! files it does not track, while the others are looked at here.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use troupe_process::{GitReader, Launcher, holds_repository};

use super::assemble::{Assembled, FoundFile, Sightings, Standing};
use super::blobs::Blobs;
use super::git;
use super::index::{EntryKind, Index};
use super::look::sha256;
use super::manifest::{KnownFile, Manifest, joined};
use super::scan::WorkTree;
use super::store::{PreparedStore, Store};
use crate::blocking::{self, Stop};
use crate::environment::Variables;
use crate::limits::{UNDO_LOOK_TIME_QUIET, UNDO_TREE_TIME_MAX};

/// Makes and compares looks at work trees.
#[derive(Debug)]
pub(super) struct Trees {
    /// Where the stores are.
    directory: PathBuf,
    /// Never part of a look, wherever it lies.
    home: PathBuf,
    blobs: Arc<Blobs>,
    launcher: Launcher,
    inherited: Variables,
}

/// A work tree, and what of it a turn may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub root: PathBuf,
    /// Relative to the root; empty for all of it.
    pub parts: Vec<PathBuf>,
}

impl Place {
    /// Tells whether a file is looked at.
    fn contains(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        self.parts.is_empty() || self.parts.iter().any(|part| path.starts_with(part))
    }
}

/// A look that was taken.
#[derive(Debug)]
pub(super) struct TakenLook {
    pub manifest: Arc<Manifest>,
    pub took: Duration,
    /// Files that are in no commit, and too many to be kept at once.
    pub left_over: usize,
}

impl TakenLook {
    /// Says that it took long, if it did: a command, or the end of a turn, waited for it.
    pub(super) fn slowness(&self) -> Option<String> {
        let text = || {
            let seconds = self.took.as_secs_f64();
            format!(
                "looking at the work tree, for undo, took {seconds:.1} s; undo.commands = false \
                 does without"
            )
        };
        (self.took > UNDO_LOOK_TIME_QUIET).then(text)
    }
}

/// One file that differs between two looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    pub path: PathBuf,
    /// `None` if it was not there.
    pub before: Option<KnownFile>,
}

impl Trees {
    pub(super) fn new(
        directory: PathBuf,
        home: PathBuf,
        blobs: Arc<Blobs>,
        launcher: Launcher,
        inherited: Variables,
    ) -> Self {
        Self {
            directory,
            home,
            blobs,
            launcher,
            inherited,
        }
    }

    /// Returns the work tree that a directory lies in. `writable` is where commands may write;
    /// only that is looked at.
    pub(super) fn place(cwd: &Path, writable: &[PathBuf]) -> Option<Place> {
        let is_root = |directory: &&Path| holds_repository(directory);
        let root = cwd.ancestors().find(is_root)?.to_owned();
        let real = root.canonicalize().ok()?;
        let mut parts = Vec::new();
        for path in writable {
            if real.starts_with(path) || root.starts_with(path) {
                return Some(Place {
                    root,
                    parts: Vec::new(),
                });
            }
            let below = path.strip_prefix(&real).or(path.strip_prefix(&root));
            parts.extend(below.ok().filter(|_| path.exists()).map(Path::to_owned));
        }
        (!parts.is_empty()).then_some(Place { root, parts })
    }

    /// Looks at a work tree, and keeps the look under the name that is returned.
    pub(super) async fn take(&self, place: &Place) -> Result<(String, TakenLook), String> {
        let store = self.store(&place.root);
        let last = {
            let store = store.clone();
            blocking::finish(move || store.last()).await?
        };
        let (name, known) = last.unzip();
        let known = known.map(Arc::new);
        let (taken, lock) = self.look(place, known.clone()).await?;
        if let (Some(name), Some(known)) = (name, known)
            && known == taken.manifest
        {
            return Ok((name, taken));
        }
        let manifest = Arc::clone(&taken.manifest);
        let saved = blocking::finish(move || {
            let saved = store.save(&manifest);
            drop(lock);
            saved
        });
        let saved = saved.await?;
        let name = saved.map_err(|error| format!("what the files hold cannot be kept: {error}"))?;
        Ok((name, taken))
    }

    /// Looks again, at what an earlier look has shown.
    pub(super) async fn take_again(
        &self,
        place: &Place,
        earlier: &Arc<Manifest>,
    ) -> Result<TakenLook, String> {
        let (taken, _lock) = self.look(place, Some(Arc::clone(earlier))).await?;
        Ok(taken)
    }

    /// Returns a look by its name.
    pub(super) async fn load(&self, root: &Path, name: &str) -> Result<Arc<Manifest>, String> {
        let (store, name) = (self.store(root), name.to_owned());
        let found = blocking::finish(move || store.load(&name)).await?;
        let found = found.ok_or_else(|| "what the files held is no longer kept".to_owned());
        found.map(Arc::new)
    }

    async fn look(
        &self,
        place: &Place,
        known: Option<Arc<Manifest>>,
    ) -> Result<(TakenLook, File), String> {
        let began = Instant::now();
        let stop = Stop::after(Some(UNDO_TREE_TIME_MAX));
        // Boxed, because every command that may write waits for it.
        let looking = Box::pin(self.look_until(place, known, &stop));
        let looked = tokio::time::timeout(UNDO_TREE_TIME_MAX, looking).await;
        let too_long = || format!("it took longer than {} s", UNDO_TREE_TIME_MAX.as_secs());
        let (assembled, lock) = looked.map_err(|_| too_long())??;
        let taken = TakenLook {
            manifest: Arc::new(assembled.manifest),
            took: began.elapsed(),
            left_over: assembled.left_over,
        };
        Ok((taken, lock))
    }

    /// Also returns the lock on the store.
    async fn look_until(
        &self,
        place: &Place,
        known: Option<Arc<Manifest>>,
        stop: &Stop,
    ) -> Result<(Assembled, File), String> {
        let now_ns = now_ns();
        let PreparedStore {
            index,
            index_path,
            attributes,
            lock,
        } = self.prepare(&self.store(&place.root)).await?;
        let mut git = self.git(&place.root);
        if let Some(path) = &index_path {
            git = git.with_index(path);
        }
        let index = Arc::new(index);
        let found = find(place, &git, &index, stop).await?;
        let blobs = Arc::clone(&self.blobs);
        let joined = blocking::finish(move || {
            let mut found = found;
            found.sort_by(|one, other| one.path.cmp(&other.path));
            found.dedup_by(|later, earlier| later.path == earlier.path);
            Sightings::join(found, &index, known.as_deref(), &blobs)
        });
        let mut sightings = joined.await?;
        self.verify(&mut sightings, &git, place, &attributes)
            .await?;
        let (blobs, root, stop) = (Arc::clone(&self.blobs), place.root.clone(), stop.clone());
        let assembled = blocking::finish(move || {
            sightings.assemble(&WorkTree::open(&root)?, &blobs, now_ns, &stop)
        });
        let assembled = assembled.await?;
        Ok((assembled.map_err(|error| not_seen(&error))?, lock))
    }

    /// Finds out which objects of the user's repository hold what is on disk.
    async fn verify(
        &self,
        sightings: &mut Sightings,
        git: &GitReader,
        place: &Place,
        attributes: &[u8],
    ) -> Result<(), String> {
        let objects = sightings.objects();
        if objects.is_empty() {
            return Ok(());
        }
        let sizes = git::sizes(git, &objects).await?;
        let files = sightings.attribute_files();
        let (root, home) = (place.root.clone(), self.attributes_of_user());
        let named = blocking::finish(move || names_conversion(&root, &files, home.as_deref()));
        let converted = if git::names_conversion(attributes) || named.await? {
            git::converted(git, &sightings.object_paths()).await?
        } else {
            BTreeSet::default()
        };
        sightings.verify(&sizes, &converted);
        Ok(())
    }

    pub(super) fn git(&self, root: &Path) -> GitReader {
        let store = self.store(root);
        GitReader::with_directory(
            self.launcher.clone(),
            &store.directory,
            root,
            &self.inherited,
        )
    }

    fn store(&self, root: &Path) -> Store {
        let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let name = &sha256(real.as_os_str().as_bytes())[..16];
        Store {
            directory: self.directory.join(name),
            root: root.to_owned(),
        }
    }

    async fn prepare(&self, store: &Store) -> Result<PreparedStore, String> {
        let (store, home) = (store.clone(), self.home.clone());
        let prepared = blocking::finish(move || store.prepare(&home)).await?;
        prepared.map_err(|error| format!("its store cannot be made ready: {error}"))
    }

    /// Where git looks for attributes that its user gives to all repositories.
    fn attributes_of_user(&self) -> Option<PathBuf> {
        let variable = |name: &str| self.inherited.get(name).filter(|value| !value.is_empty());
        let config = variable("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.or_else(|| Some(Path::new(variable("HOME")?).join(".config")));
        Some(config?.join("git/attributes"))
    }
}

/// Finds all files: those that git tracks are looked at here, while git looks for others.
async fn find(
    place: &Place,
    git: &GitReader,
    index: &Arc<Index>,
    stop: &Stop,
) -> Result<Vec<FoundFile>, String> {
    let text = place.parts.iter().map(|part| part.to_str());
    // A name that is not text cannot be an argument: then all is listed, and left out below.
    let parts: Vec<&str> = text.collect::<Option<_>>().unwrap_or_default();
    let stamping = {
        let (index, place, stop) = (Arc::clone(index), place.clone(), stop.clone());
        blocking::finish(move || stamp_tracked(&index, &place, &stop))
    };
    let (listed, tracked) = tokio::join!(git::list(git, &parts, index.is_sparse()), stamping);
    let mut found = tracked?.map_err(|error| not_seen(&error))?;
    let (listed, index, place, stop) = (listed?, Arc::clone(index), place.clone(), stop.clone());
    if !listed.is_empty() {
        let others = blocking::finish(move || stamp_listed(listed, &index, &place, &stop));
        found.extend(others.await?.map_err(|error| not_seen(&error))?);
    }
    Ok(found)
}

fn not_seen(error: &io::Error) -> String {
    format!("the files cannot be looked at: {error}")
}

fn stamp_tracked(index: &Index, place: &Place, stop: &Stop) -> io::Result<Vec<FoundFile>> {
    let entries = index.entries.iter().enumerate();
    let entries: Vec<_> = entries
        .filter(|(_, entry)| entry.kind != EntryKind::SparseDirectory)
        .filter(|(_, entry)| place.contains(&entry.path))
        .collect();
    let paths: Vec<&[u8]> = entries
        .iter()
        .map(|(_, entry)| entry.path.as_slice())
        .collect();
    let stamps = WorkTree::open(&place.root)?.stamps(&paths, stop)?;
    let found = entries.iter().zip(stamps);
    let found = found.filter_map(|((number, entry), stamp)| {
        Some(FoundFile {
            path: entry.path.clone(),
            stamp: stamp?,
            standing: Standing::Tracked(*number),
        })
    });
    Ok(found.collect())
}

/// A path that ends with a slash is a repository inside.
fn stamp_listed(
    mut listed: Vec<Vec<u8>>,
    index: &Index,
    place: &Place,
    stop: &Stop,
) -> io::Result<Vec<FoundFile>> {
    listed.retain(|path| place.contains(path));
    let plain: Vec<&[u8]> = listed
        .iter()
        .map(|path| path.strip_suffix(b"/").unwrap_or(path))
        .collect();
    let stamps = WorkTree::open(&place.root)?.stamps(&plain, stop)?;
    let found = plain.iter().zip(&listed).zip(stamps);
    let found = found.filter_map(|((path, listed), stamp)| {
        Some(FoundFile {
            path: path.to_vec(),
            stamp: stamp?,
            standing: match index.number(path) {
                _ if path.len() < listed.len() => Standing::Repository,
                Some(number) => Standing::Tracked(number),
                None => Standing::Untracked,
            },
        })
    });
    Ok(found.collect())
}

/// Tells whether any file of attributes may name a conversion.
fn names_conversion(root: &Path, files: &[Vec<u8>], of_user: Option<&Path>) -> bool {
    let beside = of_user.into_iter().chain([Path::new("/etc/gitattributes")]);
    let mut beside = beside.filter_map(|path| std::fs::read(path).ok());
    if beside.any(|content| git::names_conversion(&content)) {
        return true;
    }
    let Ok(tree) = WorkTree::open(root) else {
        return true;
    };
    let mut walk = tree.walk();
    let mut files = files.iter();
    files.any(|path| match walk.read(path) {
        Ok((_, content)) => git::names_conversion(&content),
        // Git may be able to read it.
        Err(_) => true,
    })
}

/// Lists what differs between two looks at one work tree.
pub(super) fn differences(root: &Path, before: &Manifest, after: &Manifest) -> Vec<Difference> {
    let found = before.differences(after);
    let found = found.map(|(path, before)| Difference {
        path: joined(root, path),
        before: before.cloned(),
    });
    found.collect()
}

/// Tells whether a file is part of a look.
pub(super) fn knows(root: &Path, look: &Manifest, path: &Path) -> bool {
    let below = path.strip_prefix(root);
    below.is_ok_and(|below| look.find(below.as_os_str().as_bytes()).is_some())
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let ns = since.map_or(0, |since| since.as_nanos());
    i64::try_from(ns).unwrap_or(i64::MAX)
}
