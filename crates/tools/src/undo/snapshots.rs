//! Looks at work trees: what each file holds at one moment, and what differs later.
//!
//! The user's index is where a look begins: of a file that nobody touched since git looked,
//! git has the contents. So a first look at a large repository costs one `stat` per file, like
//! every later one; only what is in no commit is read, once. Git is asked, in the sandbox, which
//! files it does not track, unless no directory has changed since the last look.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};
use troupe_process::{GitReader, Launcher, holds_repository};

use super::assemble::{self, AssembledFiles, ScannedFile, SnapshotCandidates};
use super::blobs::BlobStore;
use super::conversion::{AttributeFiles, ContentConversion};
use super::file_state::sha256;
use super::find::{FileFinder, FoundFiles, WritableTree, not_seen};
use super::git;
use super::listing::FileListing;
use super::manifest::{KnownFile, ManifestChanges, ObjectId, TreeManifest, joined, now_ns};
use super::recheck::TreeRecheck;
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
    /// Says that it took long, if it did: a command waited for it.
    pub(super) fn slowness(&self) -> Option<String> {
        slowness(self.took)
    }
}

/// What a later look has found, compared with an earlier one.
#[derive(Debug)]
pub(super) struct TreeComparison {
    pub differences: Vec<TreeDifference>,
    /// Directories that were not there.
    pub made: Vec<PathBuf>,
    took: Duration,
}

impl TreeComparison {
    /// Says that it took long, if it did: the end of a turn waited for it.
    pub(super) fn slowness(&self) -> Option<String> {
        slowness(self.took)
    }
}

fn slowness(took: Duration) -> Option<String> {
    let text = || {
        let seconds = took.as_secs_f64();
        format!(
            "looking at the work tree, for undo, took {seconds:.1} s; undo.commands = false \
             does without"
        )
    };
    (took > UNDO_LOOK_TIME_QUIET).then(text)
}

/// One file that differs between two looks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeDifference {
    pub path: PathBuf,
    /// `None` if it was not there.
    pub before: Option<KnownFile>,
}

/// A look that is under way.
#[derive(Debug)]
struct OpenLook {
    place: WritableTree,
    prepared: Arc<PreparedStore>,
    /// See [`FileListing`]; `None` if it is not known for sure.
    basis: Option<[u8; 32]>,
    /// The user's index, as far as it was read.
    index: Mutex<Option<Arc<StampedIndex>>>,
    now_ns: i64,
    stop: WorkDeadline,
}

/// All that a look has found.
#[derive(Debug)]
struct FoundTree {
    manifest: Arc<TreeManifest>,
    left_over: usize,
}

/// What a look has found to be other than an earlier one has it.
#[derive(Debug)]
struct ChangedTree {
    manifest: ManifestChanges,
    left_over: usize,
}

impl OpenLook {
    /// Reads the user's index, unless that was done.
    async fn index(&self) -> Result<Arc<StampedIndex>, String> {
        let earlier = self.known_index();
        let prepared = Arc::clone(&self.prepared);
        let index = blocking::finish(move || prepared.index(earlier)).await?;
        let mut known = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(Arc::clone(&index));
        Ok(index)
    }

    fn known_index(&self) -> Option<Arc<StampedIndex>> {
        let known = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }
}

impl FoundTree {
    fn taken(self, look: &OpenLook) -> TakenSnapshot {
        TakenSnapshot {
            look: TreeSnapshot {
                manifest: self.manifest,
                index: look.known_index(),
            },
            took: Duration::ZERO,
            left_over: self.left_over,
        }
    }
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
        let began = Instant::now();
        let (name, taken) = self.in_time(|stop| self.take_until(place, stop)).await?;
        let took = began.elapsed();
        Ok((name, TakenSnapshot { took, ..taken }))
    }

    /// Looks again, and compares with what an earlier look has shown.
    pub(super) async fn compare(
        &self,
        place: &WritableTree,
        earlier: &TreeSnapshot,
    ) -> Result<TreeComparison, String> {
        let began = Instant::now();
        let compared = self.in_time(|stop| self.compare_until(place, earlier, stop));
        let compared = compared.await?;
        let took = began.elapsed();
        Ok(TreeComparison { took, ..compared })
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

    async fn in_time<T, F: Future<Output = Result<T, String>>>(
        &self,
        look: impl FnOnce(WorkDeadline) -> F,
    ) -> Result<T, String> {
        let stop = WorkDeadline::after(Some(UNDO_TREE_TIME_MAX));
        // Boxed, because every command that may write waits for it.
        let looking = Box::pin(look(stop));
        let looked = tokio::time::timeout(UNDO_TREE_TIME_MAX, looking).await;
        looked.map_err(|_| format!("it took longer than {} s", UNDO_TREE_TIME_MAX.as_secs()))?
    }

    async fn take_until(
        &self,
        place: &WritableTree,
        stop: WorkDeadline,
    ) -> Result<(String, TakenSnapshot), String> {
        let store = self.store(&place.root);
        let last = {
            let store = store.clone();
            blocking::finish(move || store.last())
        };
        let (last, look) = tokio::join!(last, self.begin(place, None, stop));
        let (last, look) = (last?, look?);
        let Some((name, known)) = last else {
            let found = self.look(&look, None).await?;
            return keep(&store, &look, found).await;
        };
        let known = Arc::new(known);
        let Some(changes) = self.look_again(&look, &known).await? else {
            let found = self.look(&look, Some(Arc::clone(&known))).await?;
            if *found.manifest == *known {
                return Ok((name, found.taken(&look)));
            }
            return keep(&store, &look, found).await;
        };
        let left_over = changes.left_over;
        let updated = blocking::finish(move || {
            let mut manifest = Arc::unwrap_or_clone(known);
            let is_other = manifest.update(changes.manifest);
            (manifest, is_other)
        });
        let (manifest, is_other) = updated.await?;
        let found = FoundTree {
            manifest: Arc::new(manifest),
            left_over,
        };
        if is_other {
            keep(&store, &look, found).await
        } else {
            Ok((name, found.taken(&look)))
        }
    }

    async fn compare_until(
        &self,
        place: &WritableTree,
        earlier: &TreeSnapshot,
        stop: WorkDeadline,
    ) -> Result<TreeComparison, String> {
        let look = self.begin(place, earlier.index.clone(), stop).await?;
        let known = Arc::clone(&earlier.manifest);
        let again = self.look_again(&look, &known).await?;
        let found = match again {
            Some(_) => None,
            None => Some(self.look(&look, Some(Arc::clone(&known))).await?),
        };
        let root = place.root.clone();
        let compared = blocking::finish(move || {
            let (differing, listing) = match (&again, &found) {
                (Some(changes), _) => (
                    known.differing(&changes.manifest),
                    &changes.manifest.listing,
                ),
                (None, Some(found)) => (
                    known.differences(&found.manifest).collect(),
                    &found.manifest.listing,
                ),
                (None, None) => (Vec::new(), &None),
            };
            let differences = differing.into_iter().map(|(path, before)| TreeDifference {
                path: joined(&root, path),
                before: before.cloned(),
            });
            TreeComparison {
                differences: differences.collect(),
                made: made_directories(&root, known.listing.as_ref(), listing.as_ref()),
                took: Duration::ZERO,
            }
        });
        compared.await
    }

    /// Makes ready for a look.
    async fn begin(
        &self,
        place: &WritableTree,
        earlier_index: Option<Arc<StampedIndex>>,
        stop: WorkDeadline,
    ) -> Result<OpenLook, String> {
        let now_ns = now_ns();
        let (store, home) = (self.store(&place.root), self.home.clone());
        let prepared = blocking::finish(move || store.prepare(&home)).await?;
        let failed = |error| format!("its store cannot be made ready: {error}");
        let prepared = prepared.map_err(failed)?;
        Ok(OpenLook {
            place: place.clone(),
            basis: self.basis(place, &prepared, now_ns),
            prepared: Arc::new(prepared),
            index: Mutex::new(earlier_index),
            now_ns,
            stop,
        })
    }

    /// Looks at all files.
    async fn look(
        &self,
        look: &OpenLook,
        known: Option<Arc<TreeManifest>>,
    ) -> Result<FoundTree, String> {
        let index = look.index().await?;
        // The index may change without its times, or has directories in the place of files.
        let is_unsure = index.stamp != look.prepared.index_stamp || index.index.is_sparse();
        let finder = self.finder(look, &index, look.basis.filter(|_| !is_unsure));
        let FoundFiles { files, listing } = finder.find().await?;
        let assembled = self.assemble(look, &finder, files, known, None);
        let AssembledFiles { files, left_over } = assembled.await?;
        Ok(FoundTree {
            manifest: Arc::new(TreeManifest { files, listing }),
            left_over,
        })
    }

    /// Looks at what is no longer as an earlier look has it. `None` if all has to be looked at.
    async fn look_again(
        &self,
        look: &OpenLook,
        known: &Arc<TreeManifest>,
    ) -> Result<Option<ChangedTree>, String> {
        let listing = known.listing.as_ref();
        let Some(listing) = listing.filter(|it| it.basis.is_some() && it.basis == look.basis)
        else {
            return Ok(None);
        };
        let recheck = TreeRecheck {
            root: look.place.root.clone(),
            known: Arc::clone(known),
            blobs: Arc::clone(&self.blobs),
            now_ns: look.now_ns,
            stop: look.stop.clone(),
        };
        let rechecked = blocking::finish(move || recheck.run()).await?;
        let Some(mut rechecked) = rechecked.map_err(|error| not_seen(&error))? else {
            return Ok(None);
        };
        let gone = std::mem::take(&mut rechecked.gone);
        if rechecked.is_as_before() {
            return Ok(Some(ChangedTree {
                manifest: ManifestChanges {
                    files: Vec::new(),
                    gone,
                    listing: Some(FileListing {
                        directories: rechecked.directories,
                        ..FileListing::clone(listing)
                    }),
                },
                left_over: 0,
            }));
        }
        let index = look.index().await?;
        if index.stamp != look.prepared.index_stamp {
            return Ok(None);
        }
        let finder = self.finder(look, &index, look.basis);
        let Some(FoundFiles { files, listing }) = finder.find_changed(known, rechecked).await?
        else {
            return Ok(None);
        };
        let earlier = Some(Arc::clone(known));
        let assembled = self.assemble(look, &finder, files, earlier, Some(known));
        let AssembledFiles { files, left_over } = assembled.await?;
        Ok(Some(ChangedTree {
            manifest: ManifestChanges {
                files,
                gone,
                listing,
            },
            left_over,
        }))
    }

    fn finder(
        &self,
        look: &OpenLook,
        index: &Arc<StampedIndex>,
        basis: Option<[u8; 32]>,
    ) -> FileFinder {
        let mut git = self.git(&look.place.root);
        let path = look.prepared.index_path();
        if let Some(path) = path.filter(|_| index.stamp.is_some()) {
            git = git.with_index(&path);
        }
        FileFinder {
            place: look.place.clone(),
            git,
            index: Arc::clone(index),
            basis,
            now_ns: look.now_ns,
            stop: look.stop.clone(),
        }
    }

    /// Finds out where the contents of files are. `others` are in the work tree too.
    async fn assemble(
        &self,
        look: &OpenLook,
        finder: &FileFinder,
        files: Vec<ScannedFile>,
        known: Option<Arc<TreeManifest>>,
        others: Option<&TreeManifest>,
    ) -> Result<AssembledFiles, String> {
        let (blobs, index) = (Arc::clone(&self.blobs), Arc::clone(&finder.index));
        let joined = blocking::finish(move || {
            SnapshotCandidates::join(files, &index.index, known.as_deref(), &blobs)
        });
        let mut candidates = joined.await?;
        self.verify(&mut candidates, &finder.git, look, others)
            .await?;
        let (blobs, root) = (Arc::clone(&self.blobs), look.place.root.clone());
        let (stop, now_ns) = (look.stop.clone(), look.now_ns);
        let assembled = blocking::finish(move || {
            let tree = WorkTree::open(&root)?;
            candidates.compare(&tree, &stop)?;
            candidates.assemble(&tree, &blobs, now_ns, &stop)
        });
        assembled.await?.map_err(|error| not_seen(&error))
    }

    /// Names all that decides, beside the directories themselves, which files there are. `None`
    /// if the index may change without its times.
    fn basis(
        &self,
        place: &WritableTree,
        prepared: &PreparedStore,
        now_ns: i64,
    ) -> Option<[u8; 32]> {
        let stamp = prepared.index_stamp;
        if stamp.is_some_and(|it| !it.is_settled(now_ns)) {
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
    /// needed. `others` are in the work tree too.
    async fn verify(
        &self,
        sightings: &mut SnapshotCandidates,
        git: &GitReader,
        look: &OpenLook,
        others: Option<&TreeManifest>,
    ) -> Result<(), String> {
        let objects = sightings.objects();
        if objects.is_empty() {
            return Ok(());
        }
        let others = others.map_or(&[][..], |it| &it.files).iter();
        let others = others.map(|file| file.path.as_slice());
        let files = others.filter(|path| assemble::gives_attributes(path));
        let files: BTreeSet<&[u8]> = files.chain(sightings.attribute_files()).collect();
        let prepared = &look.prepared;
        let attributes = AttributeFiles {
            root: look.place.root.clone(),
            files: files.into_iter().map(<[u8]>::to_vec).collect(),
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

/// Keeps what a look has found. The store is locked as long as the look is open.
async fn keep(
    store: &SnapshotStore,
    look: &OpenLook,
    found: FoundTree,
) -> Result<(String, TakenSnapshot), String> {
    let (store, manifest) = (store.clone(), Arc::clone(&found.manifest));
    let saved = blocking::finish(move || store.save(&manifest)).await?;
    let name = saved.map_err(|error| format!("what the files hold cannot be kept: {error}"))?;
    Ok((name, found.taken(look)))
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

/// Lists the directories that are there at the later look only.
fn made_directories(
    root: &Path,
    before: Option<&FileListing>,
    after: Option<&FileListing>,
) -> Vec<PathBuf> {
    let (Some(before), Some(after)) = (before, after) else {
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
