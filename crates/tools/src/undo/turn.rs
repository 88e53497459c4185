//! One turn, while it runs: what its files were before it touched them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tokio::sync::OnceCell;
use troupe_protocol::SubmissionId;
use troupe_protocol::undo::{ChangedFile, FileBefore, FileFact, FileState, FileTree};

use super::blobs::Blobs;
use super::ground::Ground;
use super::keeper::Snapshots;
use super::look::{other, too_large};
use super::trees::{Difference, Place, Side};
use crate::blocking;
use crate::digest::Digested;
use crate::limits::{UNDO_TURN_BYTES_MAX, UNDO_TURN_FILES_MAX};

#[derive(Debug)]
pub(super) struct Turn {
    pub id: SubmissionId,
    /// The top of the work tree.
    root: PathBuf,
    /// Set before the first command that may write.
    watched: OnceCell<Watched>,
    touched: Mutex<Vec<Touched>>,
}

/// How commands are watched.
#[derive(Debug, Clone)]
pub(super) enum Watched {
    Tree {
        place: Place,
        id: String,
    },
    /// They are not, for this reason.
    Unseen(String),
}

#[derive(Debug, Clone)]
struct Touched {
    file: FileBefore,
    /// No command had been run when a patch first touched it.
    is_first: bool,
}

/// A file's state before the turn, perhaps still in git's hands.
enum Before {
    State(FileState),
    Content { bytes: Vec<u8>, mode: u32 },
}

impl Turn {
    pub(super) fn new(id: SubmissionId, root: PathBuf) -> Self {
        Self {
            id,
            root,
            watched: OnceCell::new(),
            touched: Mutex::default(),
        }
    }

    pub(super) fn is_watched(&self) -> bool {
        self.watched.initialized()
    }

    /// Looks at the work tree, unless that was done; everybody waits for the one look.
    pub(super) async fn watch(&self, look: impl Future<Output = Watched>) {
        self.watched.get_or_init(|| look).await;
    }

    /// Keeps files that a patch is about to touch. Returns those that are new to the turn.
    pub(super) async fn touch(&self, snapshots: &Snapshots, files: &[Digested]) -> Vec<FileBefore> {
        let is_first = !self.is_watched();
        let known: Vec<PathBuf> = {
            let touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
            touched.iter().map(|it| it.file.path.clone()).collect()
        };
        let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        let (blobs, root) = (snapshots.blobs(), self.root.clone());
        let kept = blocking::finish(move || keep_new(&blobs, &root, paths, &known));
        // It fails only while the engine shuts down.
        let kept: Vec<FileBefore> = kept.await.unwrap_or_default();
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        touched.extend(kept.iter().map(|file| Touched {
            file: file.clone(),
            is_first,
        }));
        kept
    }

    /// Compares and returns the line that ends the turn; `None` if nothing was told of it.
    pub(super) async fn finish(&self, snapshots: &Snapshots) -> Option<FileFact> {
        let touched = {
            let touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
            touched.clone()
        };
        let mut unseen = Vec::new();
        let before = match self.watched.get() {
            Some(Watched::Tree { place, id }) => {
                match seen(snapshots, place, id, &touched, &mut unseen).await {
                    Ok(seen) => seen,
                    Err(why) => {
                        unseen.push(format!("what commands changed is not known: {why}"));
                        patched(&touched)
                    }
                }
            }
            Some(Watched::Unseen(_)) | None if touched.is_empty() => return None,
            Some(Watched::Unseen(why)) => {
                unseen.push(why.clone());
                patched(&touched)
            }
            None => patched(&touched),
        };
        let (blobs, root) = (snapshots.blobs(), self.root.clone());
        let compared = blocking::finish(move || compare(&blobs, &root, before)).await;
        let files = match compared.and_then(|compared| compared) {
            Ok(files) => files,
            Err(why) => {
                unseen.push(format!("what was changed is not known: {why}"));
                Vec::new()
            }
        };
        Some(FileFact::Changed {
            turn_id: self.id.clone(),
            files,
            unseen,
        })
    }
}

/// Returns what a turn that was cut off has changed, as far as its first looks tell.
pub(super) async fn settle(
    snapshots: &Snapshots,
    root: &Path,
    tree: Option<&FileTree>,
    touched: &[FileBefore],
    unseen: &mut Vec<String>,
) -> Vec<ChangedFile> {
    let first = |file: &FileBefore| Touched {
        file: file.clone(),
        is_first: true,
    };
    let touched: Vec<Touched> = touched.iter().map(first).collect();
    let mut before = patched(&touched);
    if let Some(FileTree { root, parts, tree }) = tree {
        let place = Place {
            root: root.clone(),
            parts: parts.clone(),
        };
        match seen(snapshots, &place, tree, &touched, unseen).await {
            Ok(seen) => before = seen,
            Err(why) => unseen.push(format!("what commands changed is not known: {why}")),
        }
    }
    let blobs = snapshots.blobs();
    let root = tree.map_or(root, |tree| &tree.root).to_owned();
    let compared = blocking::finish(move || compare(&blobs, &root, before)).await;
    match compared.and_then(|compared| compared) {
        Ok(files) => files,
        Err(why) => {
            unseen.push(format!("what was changed is not known: {why}"));
            Vec::new()
        }
    }
}

fn patched(touched: &[Touched]) -> Vec<(PathBuf, Before)> {
    let files = touched.iter().map(|it| it.file.clone());
    files
        .map(|file| (file.path, Before::State(file.before)))
        .collect()
}

/// Finds what differs in the work tree, and joins it with what patches touched.
async fn seen(
    snapshots: &Snapshots,
    place: &Place,
    tree: &str,
    touched: &[Touched],
    unseen: &mut Vec<String>,
) -> Result<Vec<(PathBuf, Before)>, String> {
    let trees = snapshots.trees().ok_or("commands are not watched")?;
    let now = trees.take(place).await?;
    let root = &place.root;
    let mut differences = if now == tree {
        Vec::new()
    } else {
        trees.compare(place, tree, &now).await?
    };
    if differences.len() > UNDO_TURN_FILES_MAX {
        let over = differences.split_off(UNDO_TURN_FILES_MAX).len();
        unseen.push(format!("{over} more files were changed than can be kept"));
    }
    // A file that a patch touched first was as the patch found it. One that a command may have
    // changed before was as the snapshot has it, if it is there: else git ignores it.
    let differs = |path: &Path| differences.iter().any(|it| it.path == path);
    let later = touched.iter().filter(|it| !it.is_first);
    let later: Vec<PathBuf> = later
        .map(|it| it.file.path.clone())
        .filter(|path| !differs(path))
        .collect();
    let members = trees.members(root, tree, &later).await?;
    let mut before = Vec::new();
    for Touched { file, is_first } in touched {
        let is_known = !is_first && (differs(&file.path) || members.contains(&file.path));
        if !is_known {
            before.push((file.path.clone(), Before::State(file.before.clone())));
        }
    }
    differences.retain(|it| !before.iter().any(|(path, _)| *path == it.path));
    before.extend(contents(snapshots, root, differences).await?);
    Ok(before)
}

/// Fetches what the files held before.
async fn contents(
    snapshots: &Snapshots,
    root: &Path,
    differences: Vec<Difference>,
) -> Result<Vec<(PathBuf, Before)>, String> {
    let trees = snapshots.trees().ok_or("commands are not watched")?;
    let mut before = Vec::with_capacity(differences.len());
    let mut git = None;
    let mut room = UNDO_TURN_BYTES_MAX;
    for difference in differences {
        let state = match difference.before {
            Side::Absent => Before::State(FileState::Absent),
            Side::Other => Before::State(other("it is another repository")),
            Side::File { .. } | Side::Link { .. } => {
                let id = difference.before.id();
                let git = match &mut git {
                    Some(git) => git,
                    none => none.insert(trees.git(root).contents().await?),
                };
                let found = git.get(id).await?;
                let found = found.filter(|bytes| bytes.len() as u64 <= room);
                room -= found.as_ref().map_or(0, |bytes| bytes.len() as u64);
                match (found, &difference.before) {
                    (None, _) => Before::State(too_large()),
                    (Some(bytes), Side::File { executable, .. }) => {
                        let mode = if *executable { 0o755 } else { 0o644 };
                        Before::Content { bytes, mode }
                    }
                    (Some(bytes), _) => Before::State(FileState::Link {
                        target: OsString::from_vec(bytes).into(),
                    }),
                }
            }
        };
        before.push((difference.path, state));
    }
    Ok(before)
}

/// Looks at the files again and keeps what they held before, of those that are not the same.
fn compare(
    blobs: &Blobs,
    root: &Path,
    before: Vec<(PathBuf, Before)>,
) -> Result<Vec<ChangedFile>, String> {
    let ground = Ground::open(root)?;
    let mut changed = Vec::new();
    for (path, before) in before {
        let before = match before {
            Before::State(state) => state,
            Before::Content { bytes, mode } => match blobs.keep(&bytes) {
                Ok(sha256) => FileState::File { sha256, mode },
                Err(error) => other(format!("it could not be kept ({error})")),
            },
        };
        let after = ground.look(&path).state;
        if !before.is_same(&after) {
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
fn keep_new(blobs: &Blobs, root: &Path, paths: Vec<PathBuf>, known: &[PathBuf]) -> Vec<FileBefore> {
    let ground = match Ground::open(root) {
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
