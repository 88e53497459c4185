//! One turn, while it runs: what its files were before it touched them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tokio::sync::OnceCell;
use troupe_protocol::SubmissionId;
use troupe_protocol::undo::{ChangedFile, FileBefore, FileFact, FileState, FileTree};

use super::blobs::BlobStore;
use super::file_state::{other, repository, too_large};
use super::find::WritableTree;
use super::git::GitContentReader;
use super::manifest::{FileContent, KnownFile, UnkeptReason, hex};
use super::recorder::SnapshotHome;
use super::snapshots::{self, TreeDifference, TreeSnapshot};
use super::work_tree_root::WorkTreeRoot;
use crate::blocking;
use crate::digest::FileDigest;
use crate::limits::{UNDO_FILE_BYTES_MAX, UNDO_TURN_BYTES_MAX, UNDO_TURN_FILES_MAX};

#[derive(Debug)]
pub(super) struct RecordedTask {
    pub id: SubmissionId,
    /// The top of the work tree.
    root: PathBuf,
    /// Set before the first command that may write.
    watched: OnceCell<CommandWatch>,
    touched: Mutex<Vec<TouchedFile>>,
    /// Directories that were missing when a patch was about to write below them.
    missing: Mutex<BTreeSet<PathBuf>>,
}

/// What is known to have been different before.
struct SeenChanges {
    files: Vec<(PathBuf, PriorState)>,
    /// Directories that were not there.
    made: Vec<PathBuf>,
    /// What is to be said of the time that the look took.
    slowness: Option<String>,
}

/// What a turn did.
#[derive(Debug, Default)]
pub(super) struct SettledTask {
    pub files: Vec<ChangedFile>,
    /// Directories that it made.
    pub directories: Vec<PathBuf>,
}

/// What a turn came to.
#[derive(Debug, Default)]
pub struct EndedTask {
    /// The line that says what it changed, if it changed anything that can be seen.
    pub fact: Option<FileFact>,
    /// What a person should know of the look.
    pub warnings: Vec<String>,
}

/// How commands are watched.
#[derive(Debug, Clone)]
pub(super) enum CommandWatch {
    Tree {
        place: WritableTree,
        look: TreeSnapshot,
    },
    /// They are not, for this reason.
    Unseen(String),
}

#[derive(Debug, Clone)]
struct TouchedFile {
    file: FileBefore,
    /// No command had been run when a patch first touched it.
    is_first: bool,
}

/// A file's state before the turn, perhaps still in git's hands.
enum PriorState {
    State(FileState),
    Content { bytes: Vec<u8>, mode: u32 },
}

impl RecordedTask {
    pub(super) fn new(id: SubmissionId, root: PathBuf) -> Self {
        Self {
            id,
            root,
            watched: OnceCell::new(),
            touched: Mutex::default(),
            missing: Mutex::default(),
        }
    }

    pub(super) fn is_watched(&self) -> bool {
        self.watched.initialized()
    }

    /// Looks at the work tree, unless that was done; everybody waits for the one look.
    pub(super) async fn watch(&self, look: impl Future<Output = CommandWatch>) {
        self.watched.get_or_init(|| look).await;
    }

    /// Keeps files that a patch is about to touch. Returns those that are new to the turn.
    pub(super) async fn touch(
        &self,
        snapshots: &SnapshotHome,
        files: &[FileDigest],
    ) -> Vec<FileBefore> {
        let is_first = !self.is_watched();
        let known: Vec<PathBuf> = {
            let touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
            touched.iter().map(|it| it.file.path.clone()).collect()
        };
        let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        let (blobs, root) = (snapshots.blobs(), self.root.clone());
        let kept = blocking::finish(move || {
            let missing = missing_directories(&root, &paths);
            (keep_new(&blobs, &root, paths, &known), missing)
        });
        // It fails only while the engine shuts down.
        let (kept, missing): (Vec<FileBefore>, BTreeSet<PathBuf>) = kept.await.unwrap_or_default();
        {
            let mut known = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
            known.extend(missing);
        }
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        touched.extend(kept.iter().map(|file| TouchedFile {
            file: file.clone(),
            is_first,
        }));
        kept
    }

    /// Compares and returns the line that ends the turn; none if nothing was told of it.
    pub(super) async fn finish(&self, snapshots: &SnapshotHome) -> EndedTask {
        let touched = {
            let touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
            touched.clone()
        };
        let mut unseen = Vec::new();
        let mut warnings = Vec::new();
        let mut directories = {
            let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
            missing.clone()
        };
        let before = match self.watched.get() {
            Some(CommandWatch::Tree { place, look }) => {
                match seen(snapshots, place, look, &touched, &mut unseen).await {
                    Ok(seen) => {
                        warnings.extend(seen.slowness);
                        directories.extend(seen.made);
                        seen.files
                    }
                    Err(why) => {
                        let text = format!("what commands changed is not known: {why}");
                        warnings.push(format!("{text}; it cannot be taken back"));
                        unseen.push(text);
                        patched(&touched)
                    }
                }
            }
            None if touched.is_empty() => return EndedTask::default(),
            Some(CommandWatch::Unseen(why)) => {
                unseen.push(why.clone());
                patched(&touched)
            }
            None => patched(&touched),
        };
        let (blobs, root) = (snapshots.blobs(), self.root.clone());
        let compared = blocking::finish(move || {
            // Only what is still there can be removed later.
            directories.retain(|path| path.symlink_metadata().is_ok_and(|it| it.is_dir()));
            let directories = directories.into_iter().take(UNDO_TURN_FILES_MAX);
            let directories = directories.collect();
            compare(&blobs, &root, before).map(|files| SettledTask { files, directories })
        });
        let settled = match compared.await.and_then(|compared| compared) {
            Ok(settled) => settled,
            Err(why) => {
                unseen.push(format!("what was changed is not known: {why}"));
                SettledTask::default()
            }
        };
        let fact = FileFact::Changed {
            turn_id: self.id.clone(),
            files: settled.files,
            directories: settled.directories,
            unseen,
        };
        EndedTask {
            fact: Some(fact),
            warnings,
        }
    }
}

/// Returns what a turn that was cut off has changed, as far as its first looks tell.
pub(super) async fn settle(
    snapshots: &SnapshotHome,
    root: &Path,
    tree: Option<&FileTree>,
    touched: &[FileBefore],
    unseen: &mut Vec<String>,
) -> SettledTask {
    let first = |file: &FileBefore| TouchedFile {
        file: file.clone(),
        is_first: true,
    };
    let touched: Vec<TouchedFile> = touched.iter().map(first).collect();
    let mut before = patched(&touched);
    let mut directories = Vec::new();
    if let Some(FileTree { root, parts, tree }) = tree {
        let place = WritableTree {
            root: root.clone(),
            parts: parts.clone(),
        };
        match seen_since(snapshots, &place, tree, &touched, unseen).await {
            Ok(seen) => {
                before = seen.files;
                directories = seen.made;
            }
            Err(why) => unseen.push(format!("what commands changed is not known: {why}")),
        }
    }
    let blobs = snapshots.blobs();
    let root = tree.map_or(root, |tree| &tree.root).to_owned();
    let compared = blocking::finish(move || compare(&blobs, &root, before)).await;
    match compared.and_then(|compared| compared) {
        Ok(files) => SettledTask { files, directories },
        Err(why) => {
            unseen.push(format!("what was changed is not known: {why}"));
            SettledTask::default()
        }
    }
}

/// Returns the directories below the top that are not there, on the way to these files.
fn missing_directories(root: &Path, paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    let is_missing = |path: &Path| {
        let found = path.symlink_metadata();
        found.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    };
    let above = paths.iter().flat_map(|path| path.ancestors().skip(1));
    let below = above.filter(|path| path.starts_with(root) && *path != root);
    below
        .filter(|path| is_missing(path))
        .map(Path::to_owned)
        .collect()
}

fn patched(touched: &[TouchedFile]) -> Vec<(PathBuf, PriorState)> {
    let files = touched.iter().map(|it| it.file.clone());
    files
        .map(|file| (file.path, PriorState::State(file.before)))
        .collect()
}

/// Finds what differs in the work tree, and joins it with what patches touched.
async fn seen(
    snapshots: &SnapshotHome,
    place: &WritableTree,
    look: &TreeSnapshot,
    touched: &[TouchedFile],
    unseen: &mut Vec<String>,
) -> Result<SeenChanges, String> {
    let trees = snapshots.trees().ok_or("commands are not watched")?;
    let now = trees.compare(place, look).await?;
    let slowness = now.slowness();
    let (mut differences, made) = (now.differences, now.made);
    let root = &place.root;
    // A file that a patch touched first was as the patch found it. One that a command may have
    // changed before was as the look has it, if it is there: else git ignores it.
    let differs = |path: &Path| differences.iter().any(|it| it.path == path);
    let mut before = Vec::new();
    for TouchedFile { file, is_first } in touched {
        let is_known = !is_first
            && (differs(&file.path) || snapshots::knows(root, &look.manifest, &file.path));
        if !is_known {
            before.push((file.path.clone(), PriorState::State(file.before.clone())));
        }
    }
    differences.retain(|it| !before.iter().any(|(path, _)| *path == it.path));
    if differences.len() > UNDO_TURN_FILES_MAX {
        let over = differences.split_off(UNDO_TURN_FILES_MAX).len();
        unseen.push(format!("{over} more files were changed than can be kept"));
    }
    before.extend(contents(snapshots, root, differences).await?);
    Ok(SeenChanges {
        files: before,
        made,
        slowness,
    })
}

/// The same for a look that is known by its name alone.
async fn seen_since(
    snapshots: &SnapshotHome,
    place: &WritableTree,
    name: &str,
    touched: &[TouchedFile],
    unseen: &mut Vec<String>,
) -> Result<SeenChanges, String> {
    let trees = snapshots.trees().ok_or("commands are not watched")?;
    let look = trees.load(&place.root, name).await?;
    seen(snapshots, place, &look, touched, unseen).await
}

/// Fetches what the files held before.
async fn contents(
    snapshots: &SnapshotHome,
    root: &Path,
    differences: Vec<TreeDifference>,
) -> Result<Vec<(PathBuf, PriorState)>, String> {
    let trees = snapshots.trees().ok_or("commands are not watched")?;
    let mut before = Vec::with_capacity(differences.len());
    let mut git = None;
    let mut room = UNDO_TURN_BYTES_MAX;
    for TreeDifference { path, before: file } in differences {
        let Some(KnownFile { stamp, content, .. }) = file else {
            before.push((path, PriorState::State(FileState::Absent)));
            continue;
        };
        let mode = stamp.mode & 0o7777;
        let state = match content {
            FileContent::Kept(sha256) => PriorState::State(FileState::File {
                sha256: hex(&sha256),
                mode,
            }),
            FileContent::Link(target) => PriorState::State(FileState::Link { target }),
            FileContent::Unkept(reason) => PriorState::State(unkept(reason)),
            // Its place may be taken by files; what was in it is not known.
            FileContent::Repository => PriorState::State(repository()),
            FileContent::Object(id) => {
                let git = match &mut git {
                    Some(git) => git,
                    none => none.insert(GitContentReader::start(&trees.git(root)).await?),
                };
                match git.get(&id).await? {
                    None if stamp.size > UNDO_FILE_BYTES_MAX => PriorState::State(too_large()),
                    None => PriorState::State(other("git no longer has what it held")),
                    Some(bytes) if bytes.len() as u64 != stamp.size => {
                        PriorState::State(other("git keeps other bytes than it held"))
                    }
                    Some(bytes) if bytes.len() as u64 > room => {
                        PriorState::State(other("the turn changed more than is kept at once"))
                    }
                    Some(bytes) => {
                        room -= bytes.len() as u64;
                        PriorState::Content { bytes, mode }
                    }
                }
            }
        };
        before.push((path, state));
    }
    Ok(before)
}

fn unkept(reason: UnkeptReason) -> FileState {
    match reason {
        UnkeptReason::TooLarge => too_large(),
        UnkeptReason::TooMany => {
            other("more files are new to git than are kept at once, and its contents were not")
        }
        UnkeptReason::Unreadable => other("it could not be read"),
        UnkeptReason::Special => other("it is not a regular file"),
    }
}

/// Looks at the files again and keeps what they held before, of those that are not the same.
fn compare(
    blobs: &BlobStore,
    root: &Path,
    before: Vec<(PathBuf, PriorState)>,
) -> Result<Vec<ChangedFile>, String> {
    let ground = WorkTreeRoot::open(root)?;
    let mut changed = Vec::new();
    for (path, before) in before {
        let before = match before {
            PriorState::State(state) => state,
            PriorState::Content { bytes, mode } => match blobs.keep(&bytes) {
                Ok(sha256) => FileState::File { sha256, mode },
                Err(error) => other(format!("it could not be kept ({error})")),
            },
        };
        let after = ground.look(&path).state;
        // What is not kept cannot be compared: that it differs was seen by its times.
        let is_unknown = matches!(before, FileState::Other { .. });
        if is_unknown || !before.is_same(&after) {
            changed.push(ChangedFile {
                path,
                before,
                after,
            });
        }
    }
    Ok(changed)
}

/// Keeps files that the turn has not touched before, by the names that git has for them.
fn keep_new(
    blobs: &BlobStore,
    root: &Path,
    paths: Vec<PathBuf>,
    known: &[PathBuf],
) -> Vec<FileBefore> {
    let ground = match WorkTreeRoot::open(root) {
        Ok(ground) => ground,
        Err(why) => {
            let before = other(format!("it could not be kept ({why})"));
            let file = |path| FileBefore {
                path,
                before: before.clone(),
            };
            return paths.into_iter().map(file).collect();
        }
    };
    let mut kept: Vec<FileBefore> = Vec::new();
    for path in paths {
        let path = ground.real_name(&path);
        if known.contains(&path) || kept.iter().any(|it| it.path == path) {
            continue;
        }
        let sight = ground.look(&path);
        let before = match sight.content.map(|content| blobs.keep(&content)) {
            Some(Err(error)) => other(format!("it could not be kept ({error})")),
            Some(Ok(_)) | None => sight.state,
        };
        kept.push(FileBefore { path, before });
    }
    kept
}
