//! Looks at work trees: what each file holds at one moment, and what differs later.
//!
//! The user's index is where a look begins: of a file that nobody touched since git looked,
//! git has the contents. So a first look at a large repository costs one `stat` per file, like
//! every later one; only what is in no commit is read, once. Git is asked, in the sandbox, which
//! files it does not track, unless no directory has changed since the last look.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use troupe_process::{GitReader, Launcher, holds_repository};

use super::assemble::{AssembledFiles, SnapshotCandidates};
use super::blobs::BlobStore;
use super::file_state::sha256;
use super::find::{FileFinder, FoundFiles, WritableTree, not_seen};
use super::git;
use super::manifest::{KnownFile, ObjectId, TreeManifest, joined, now_ns};
use super::scan::WorkTree;
use super::store::{PreparedStore, SnapshotStore, StampedIndex};
use crate::blocking::{self, WorkDeadline};
use crate::environment::Variables;
use crate::limits::{UNDO_LOOK_TIME_QUIET, UNDO_SAMPLE_OBJECTS, UNDO_TREE_TIME_MAX};

/// Makes and compares looks at work trees.
#[derive(Debug)]
pub(super) struct SnapshotMaker {
    /// Where the stores are.
    directory: PathBuf,
    /// Where the stores are that looks are read from.
    kept: PathBuf,
    /// Never part of a look, wherever it lies.
    home: PathBuf,
    blobs: Arc<BlobStore>,
    launcher: Launcher,
    inherited: Variables,
}

/// What a work tree held, with the index that was there then.
#[derive(Debug, Clone)]
pub(super) struct TreeSnapshot {
    pub manifest: Arc<TreeManifest>,
    /// `None` for a look that comes from its file.
    index: Option<Arc<StampedIndex>>,
}

/// A look that was taken.
#[derive(Debug)]
pub(super) struct TakenSnapshot {
    pub look: TreeSnapshot,
    pub took: Duration,
    /// Files that are in no commit, and too many to be kept at once.
    pub left_over: usize,
}

impl TakenSnapshot {
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
pub(super) struct TreeDifference {
    pub path: PathBuf,
    /// `None` if it was not there.
    pub before: Option<KnownFile>,
}

impl SnapshotMaker {
    pub(super) fn new(
        directory: PathBuf,
        home: PathBuf,
        blobs: Arc<BlobStore>,
        launcher: Launcher,
        inherited: Variables,
    ) -> Self {
        Self {
            kept: directory.clone(),
            directory,
            home,
            blobs,
            launcher,
            inherited,
        }
    }

    /// Reads the same looks, and writes into another directory.
    pub(super) fn in_scratch(&self, directory: PathBuf, blobs: Arc<BlobStore>) -> Self {
        Self {
            directory,
            kept: self.kept.clone(),
            home: self.home.clone(),
            blobs,
            launcher: self.launcher.clone(),
            inherited: self.inherited.clone(),
        }
    }

    /// Returns the work tree that a directory lies in. `writable` is where commands may write;
    /// only that is looked at.
    pub(super) fn place(cwd: &Path, writable: &[PathBuf]) -> Option<WritableTree> {
        let is_root = |directory: &&Path| holds_repository(directory);
        let root = cwd.ancestors().find(is_root)?.to_owned();
        let real = root.canonicalize().ok()?;
        let mut parts = Vec::new();
        for path in writable {
            if real.starts_with(path) || root.starts_with(path) {
                return Some(WritableTree {
                    root,
                    parts: Vec::new(),
                });
            }
            let below = path.strip_prefix(&real).or(path.strip_prefix(&root));
            parts.extend(below.ok().filter(|_| path.exists()).map(Path::to_owned));
        }
        (!parts.is_empty()).then_some(WritableTree { root, parts })
    }

    /// Looks at a work tree, and keeps the look under the name that is returned.
    pub(super) async fn take(
        &self,
        place: &WritableTree,
    ) -> Result<(String, TakenSnapshot), String> {
        let store = self.store(&place.root);
        let last = {
            let store = store.clone();
            blocking::finish(move || store.last()).await?
        };
        let (name, known) = last.unzip();
        let known = known.map(|manifest| TreeSnapshot {
            manifest: Arc::new(manifest),
            index: None,
        });
        let (taken, lock) = self.look(place, known.clone()).await?;
        let manifest = Arc::clone(&taken.look.manifest);
        if let (Some(name), Some(known)) = (name, known)
            && known.manifest == manifest
        {
            return Ok((name, taken));
        }
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
        place: &WritableTree,
        earlier: &TreeSnapshot,
    ) -> Result<TakenSnapshot, String> {
        let (taken, _lock) = self.look(place, Some(earlier.clone())).await?;
        Ok(taken)
    }

    /// Returns a look by its name.
    pub(super) async fn load(&self, root: &Path, name: &str) -> Result<TreeSnapshot, String> {
        let (store, name) = (store_in(&self.kept, root), name.to_owned());
        let found = blocking::finish(move || store.load(&name)).await?;
        let manifest = found.ok_or_else(|| "what the files held is no longer kept".to_owned())?;
        Ok(TreeSnapshot {
            manifest: Arc::new(manifest),
            index: None,
        })
    }

    async fn look(
        &self,
        place: &WritableTree,
        known: Option<TreeSnapshot>,
    ) -> Result<(TakenSnapshot, File), String> {
        let began = Instant::now();
        let stop = WorkDeadline::after(Some(UNDO_TREE_TIME_MAX));
        // Boxed, because every command that may write waits for it.
        let looking = Box::pin(self.look_until(place, known, &stop));
        let looked = tokio::time::timeout(UNDO_TREE_TIME_MAX, looking).await;
        let too_long = || format!("it took longer than {} s", UNDO_TREE_TIME_MAX.as_secs());
        let (taken, lock) = looked.map_err(|_| too_long())??;
        let taken = TakenSnapshot {
            took: began.elapsed(),
            ..taken
        };
        Ok((taken, lock))
    }

    /// Also returns the lock on the store.
    async fn look_until(
        &self,
        place: &WritableTree,
        known: Option<TreeSnapshot>,
        stop: &WorkDeadline,
    ) -> Result<(TakenSnapshot, File), String> {
        let now_ns = now_ns();
        let (known, index) = match known {
            Some(TreeSnapshot { manifest, index }) => (Some(manifest), index),
            None => (None, None),
        };
        let prepared = self.prepare(&self.store(&place.root), index).await?;
        let mut git = self.git(&place.root);
        if let Some(path) = &prepared.index_path {
            git = git.with_index(path);
        }
        let index = Arc::clone(&prepared.index);
        let finder = FileFinder {
            place: place.clone(),
            git: git.clone(),
            index: Arc::clone(&index),
            known: known.clone(),
            basis: self.basis(place, &prepared, now_ns),
            now_ns,
            stop: stop.clone(),
        };
        let FoundFiles { files, listing } = finder.find().await?;
        let (blobs, joined) = (Arc::clone(&self.blobs), Arc::clone(&index));
        let joined = blocking::finish(move || {
            SnapshotCandidates::join(files, &joined.index, known.as_deref(), &blobs)
        });
        let mut sightings = joined.await?;
        self.verify(&mut sightings, &git, place, &prepared).await?;
        let (blobs, root, stop) = (Arc::clone(&self.blobs), place.root.clone(), stop.clone());
        let assembled = blocking::finish(move || {
            let tree = WorkTree::open(&root)?;
            sightings.compare(&tree, &stop)?;
            sightings.assemble(&tree, &blobs, now_ns, &stop)
        });
        let AssembledFiles { files, left_over } =
            assembled.await?.map_err(|error| not_seen(&error))?;
        let look = TreeSnapshot {
            manifest: Arc::new(TreeManifest { files, listing }),
            index: Some(index),
        };
        let taken = TakenSnapshot {
            look,
            took: Duration::ZERO,
            left_over,
        };
        Ok((taken, prepared.lock))
    }

    /// Names all that decides, beside the directories themselves, which files there are. `None`
    /// if the index may change without its times, or has directories in the place of files.
    fn basis(
        &self,
        place: &WritableTree,
        prepared: &PreparedStore,
        now_ns: i64,
    ) -> Option<[u8; 32]> {
        let stamp = prepared.index.stamp;
        if prepared.index.index.is_sparse() || stamp.is_some_and(|it| !it.is_settled(now_ns)) {
            return None;
        }
        let ignored = self.git_file_of_user("ignore");
        let ignored = ignored.and_then(|path| std::fs::read(path).ok());
        let mut hash = Sha256::new();
        let mut put = |bytes: &[u8]| {
            hash.update(bytes.len().to_le_bytes());
            hash.update(bytes);
        };
        put(format!("{stamp:?}").as_bytes());
        put(&prepared.exclude);
        put(&ignored.unwrap_or_default());
        for part in &place.parts {
            put(part.as_os_str().as_bytes());
        }
        Some(hash.finalize().into())
    }

    /// Finds out which objects of the user's repository hold what is on disk. Where nothing
    /// converts contents a sample of them is asked for; the others are compared when they are
    /// needed.
    async fn verify(
        &self,
        sightings: &mut SnapshotCandidates,
        git: &GitReader,
        place: &WritableTree,
        prepared: &PreparedStore,
    ) -> Result<(), String> {
        let objects = sightings.objects();
        if objects.is_empty() {
            return Ok(());
        }
        let attributes = AttributeFiles {
            root: place.root.clone(),
            files: sightings.attribute_files(),
            beside: [
                self.git_file_of_user("attributes"),
                Some("/etc/gitattributes".into()),
            ],
            of_repository: prepared.attributes.clone(),
        };
        let settings = self.settings_of_user();
        let may_resize = git::sets_resizing(&prepared.settings);
        let conversion = blocking::finish(move || {
            let mut settings = settings.iter().filter_map(|path| std::fs::read(path).ok());
            let may_resize = may_resize || settings.any(|it| git::sets_resizing(&it));
            let found = attributes.conversion();
            if may_resize {
                found.max(ContentConversion::Length)
            } else {
                found
            }
        });
        let conversion = conversion.await?;
        if conversion == ContentConversion::None && is_sample_exact(git, &objects).await? {
            sightings.trust_objects();
            return Ok(());
        }
        let ids: Vec<ObjectId> = objects.iter().map(|(id, _)| *id).collect();
        let sizes = git::sizes(git, &ids).await?;
        let converted = if conversion == ContentConversion::Contents {
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

    fn store(&self, root: &Path) -> SnapshotStore {
        store_in(&self.directory, root)
    }

    async fn prepare(
        &self,
        store: &SnapshotStore,
        index: Option<Arc<StampedIndex>>,
    ) -> Result<PreparedStore, String> {
        let (store, home) = (store.clone(), self.home.clone());
        let prepared = blocking::finish(move || store.prepare(&home, index)).await?;
        prepared.map_err(|error| format!("its store cannot be made ready: {error}"))
    }

    /// Where git looks for attributes and ignored files that its user has for all repositories.
    fn git_file_of_user(&self, name: &str) -> Option<PathBuf> {
        let variable = |name: &str| self.inherited.get(name).filter(|value| !value.is_empty());
        let config = variable("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.or_else(|| Some(Path::new(variable("HOME")?).join(".config")));
        Some(config?.join("git").join(name))
    }

    /// Where settings are that counted when the user's own git wrote the files.
    fn settings_of_user(&self) -> Vec<PathBuf> {
        let home = self.inherited.get("HOME").map(Path::new);
        let files = [
            self.git_file_of_user("config"),
            home.map(|home| home.join(".gitconfig")),
            Some("/etc/gitconfig".into()),
        ];
        files.into_iter().flatten().collect()
    }
}

fn store_in(directory: &Path, root: &Path) -> SnapshotStore {
    let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let name = &sha256(real.as_os_str().as_bytes())[..16];
    SnapshotStore {
        directory: directory.join(name),
        root: root.to_owned(),
    }
}

/// How much the contents on disk may differ from those that git keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ContentConversion {
    None,
    /// Then they have another length.
    Length,
    /// Perhaps with the same length.
    Contents,
}

/// Where attributes are given to files.
#[derive(Debug)]
struct AttributeFiles {
    root: PathBuf,
    /// Those of the work tree, relative to its top.
    files: Vec<Vec<u8>>,
    /// Those of the user and of the machine.
    beside: [Option<PathBuf>; 2],
    of_repository: Vec<u8>,
}

impl AttributeFiles {
    /// Tells what they may name at most. Blocks on the file system.
    fn conversion(self) -> ContentConversion {
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

/// Tells whether some of the objects, from all over the work tree, have the length of their
/// files.
async fn is_sample_exact(git: &GitReader, objects: &[(ObjectId, u64)]) -> Result<bool, String> {
    let step = objects.len().div_ceil(UNDO_SAMPLE_OBJECTS).max(1);
    let sample: Vec<_> = objects.iter().step_by(step).collect();
    let ids: Vec<ObjectId> = sample.iter().map(|(id, _)| *id).collect();
    let sizes = git::sizes(git, &ids).await?;
    let mut pairs = sample.iter().zip(sizes);
    Ok(pairs.all(|((_, on_disk), in_git)| in_git == Some(*on_disk)))
}

/// Lists what differs between two looks at one work tree.
pub(super) fn differences(
    root: &Path,
    before: &TreeManifest,
    after: &TreeManifest,
) -> Vec<TreeDifference> {
    let found = before.differences(after);
    let found = found.map(|(path, before)| TreeDifference {
        path: joined(root, path),
        before: before.cloned(),
    });
    found.collect()
}

/// Lists the directories that are there at the later look only.
pub(super) fn made_directories(
    root: &Path,
    before: &TreeManifest,
    after: &TreeManifest,
) -> Vec<PathBuf> {
    let (Some(before), Some(after)) = (&before.listing, &after.listing) else {
        return Vec::new();
    };
    let is_new = |path: &[u8]| {
        let known = &before.directories;
        let found = known.binary_search_by(|it| it.path.as_slice().cmp(path));
        found.is_err()
    };
    let directories = after.directories.iter().filter(|it| is_new(&it.path));
    directories.map(|it| joined(root, &it.path)).collect()
}

/// Tells whether a file is part of a look.
pub(super) fn knows(root: &Path, look: &TreeManifest, path: &Path) -> bool {
    let below = path.strip_prefix(root);
    below.is_ok_and(|below| look.find(below.as_os_str().as_bytes()).is_some())
}
