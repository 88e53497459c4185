//! Going the ways back: what can be done about each file as it is now, and doing it.
//!
//! All of it or nothing: one file that is not as the turn left it is enough for none to be
//! touched, unless whoever asks wants what can be had. Removing comes before writing, because a
//! link or a file of the turn may stand where a directory is to be again. If a later group of
//! files fails, the earlier ones get back what was kept of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use nix::sys::stat::Mode;
use nix::unistd::{getegid, geteuid};
use troupe_patch::apply::{self, PatchStep};
use troupe_patch::target::{FileAttributes, TargetEntry};
use troupe_protocol::undo::{ChangedFile, FileState, UndoConflict};

use super::blobs::BlobStore;
use super::ledger::FileRestore;
use super::work_tree_root::{PathSighting, WorkTreeRoot};
use crate::limits::UNDO_STEPS_MAX;

/// What an undo will do. Everything that it overwrites is kept.
#[derive(Debug, Default)]
pub struct UndoPlan {
    /// Each file that is written or removed, as it is and as it will be.
    pub files: Vec<ChangedFile>,
    pub conflicts: Vec<UndoConflict>,
    directories: DirectoryChange,
    extent: UndoExtent,
    root: PathBuf,
}

/// What becomes of the directories that the turns made.
#[derive(Debug)]
pub(super) enum DirectoryChange {
    /// They go if nothing is left in them.
    Removed(BTreeSet<PathBuf>),
    /// They come back, with nothing in them but what comes back too.
    Made(BTreeSet<PathBuf>),
}

impl Default for DirectoryChange {
    fn default() -> Self {
        Self::Removed(BTreeSet::new())
    }
}

impl DirectoryChange {
    fn paths(&self) -> &BTreeSet<PathBuf> {
        match self {
            Self::Removed(paths) | Self::Made(paths) => paths,
        }
    }
}

/// What becomes of an undo that meets a file which is not as the turn left it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UndoExtent {
    /// Nothing is touched.
    #[default]
    AllOrNothing,
    /// The others are taken back.
    Partly,
}

impl UndoPlan {
    pub fn restored(&self) -> Vec<PathBuf> {
        let mut restored = self.paths(|after| *after != FileState::Absent);
        if let DirectoryChange::Made(made) = &self.directories {
            restored.extend(made.iter().cloned());
        }
        restored
    }

    pub fn removed(&self) -> Vec<PathBuf> {
        let mut removed = self.paths(|after| *after == FileState::Absent);
        removed.extend(self.removed_directories());
        removed
    }

    /// Returns the directories that go, because nothing is left in them.
    pub fn removed_directories(&self) -> Vec<PathBuf> {
        match &self.directories {
            DirectoryChange::Removed(gone) => gone.iter().cloned().collect(),
            DirectoryChange::Made(_) => Vec::new(),
        }
    }

    /// Tells whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.directories.paths().is_empty()
    }

    /// Tells whether all that was wanted is, or can be, done.
    pub fn is_success(&self) -> bool {
        let is_some = self.extent == UndoExtent::Partly && !self.is_empty();
        self.conflicts.is_empty() || is_some
    }

    fn paths(&self, becomes: impl Fn(&FileState) -> bool) -> Vec<PathBuf> {
        let files = self.files.iter().filter(|file| becomes(&file.after));
        files.map(|file| file.path.clone()).collect()
    }

    fn leave(&mut self, path: &Path, reason: impl Into<String>) {
        self.conflicts.push(UndoConflict {
            path: path.to_owned(),
            reason: reason.into(),
        });
    }

    /// Looks at each file; writes nothing. `root` is where the session works. Blocks on the
    /// file system.
    pub(super) fn make(
        ways: Vec<FileRestore>,
        directories: DirectoryChange,
        root: &Path,
        extent: UndoExtent,
        blobs: &BlobStore,
    ) -> Self {
        let mut plan = Self {
            root: root.to_owned(),
            extent,
            ..Self::default()
        };
        let ground = match WorkTreeRoot::open(root) {
            Ok(ground) => ground,
            Err(reason) => {
                plan.leave(root, reason);
                return plan;
            }
        };
        let mut intended = Vec::new();
        for way in ways {
            let sight = ground.look(&way.path);
            match decide(&way, &sight, blobs) {
                Ok(Some(file)) => intended.push((file, sight)),
                Ok(None) => {}
                Err(reason) => plan.leave(&way.path, reason),
            }
        }
        let removed = intended.iter().map(|(file, _)| file);
        let removed = removed.filter(|file| file.after == FileState::Absent);
        let removed: BTreeSet<PathBuf> = removed.map(|file| file.path.clone()).collect();
        for (file, sight) in intended {
            match check_way(&file, &sight, &removed) {
                Ok(()) => plan.files.push(file),
                Err(reason) => plan.leave(&file.path, reason),
            }
        }
        let directories = plan.settle_directories(directories, &ground, &removed);
        if extent == UndoExtent::AllOrNothing && !plan.conflicts.is_empty() {
            plan.files.clear();
            return plan;
        }
        plan.directories = directories;
        plan
    }

    /// Leaves those that there is something to do about.
    fn settle_directories(
        &mut self,
        wanted: DirectoryChange,
        ground: &WorkTreeRoot,
        removed: &BTreeSet<PathBuf>,
    ) -> DirectoryChange {
        // Where a file comes back, the directory that is in its place goes with that; where one
        // comes back in a directory, the directory comes with it.
        let written: BTreeSet<&Path> = self.files.iter().map(|file| file.path.as_path()).collect();
        match wanted {
            DirectoryChange::Removed(made) => {
                let goes = |path: &PathBuf| {
                    let is_directory = ground.look(path).is_directory;
                    is_directory && !written.contains(path.as_path()) && is_emptied(path, removed)
                };
                DirectoryChange::Removed(made.into_iter().filter(goes).collect())
            }
            DirectoryChange::Made(gone) => {
                let comes_anyway = |path: &PathBuf| {
                    let below = |it: &Path| it != path && it.starts_with(path);
                    written.iter().any(|it| below(it)) || gone.iter().any(|it| below(it))
                };
                let leaves = gone.iter().filter(|path| !comes_anyway(path)).cloned();
                let mut missing = BTreeSet::new();
                for path in leaves.collect::<Vec<PathBuf>>() {
                    let sight = ground.look(&path);
                    if sight.is_directory {
                        continue;
                    }
                    let is_free = sight.state == FileState::Absent && sight.blocker.is_none();
                    let gives_way = removed.contains(&path)
                        || sight.blocker.is_some_and(|it| removed.contains(&it));
                    if is_free || gives_way {
                        missing.insert(path);
                    } else {
                        self.leave(&path, "a link or a file is where a directory was");
                    }
                }
                DirectoryChange::Made(missing)
            }
        }
    }

    /// Writes and removes all files, or none, and looks at them again. What could not be done
    /// is a conflict afterwards. Blocks on the file system.
    pub(super) fn perform(mut self, blobs: &BlobStore) -> Self {
        let files = std::mem::take(&mut self.files);
        let ground = match WorkTreeRoot::open(&self.root) {
            Ok(ground) => ground,
            Err(reason) => {
                let root = self.root.clone();
                self.directories = DirectoryChange::default();
                self.leave(&root, reason);
                return self;
            }
        };
        let mut done = Vec::new();
        match write_all(&ground, &files, blobs, &mut done) {
            Ok(()) => {
                for file in &files {
                    if !ground.look(&file.path).state.is_same(&file.after) {
                        self.leave(&file.path, "it was changed again just now");
                    }
                }
                self.files = files;
                self.change_directories(&ground);
            }
            Err(problem) => {
                self.directories = DirectoryChange::default();
                self.leave(&problem.path, problem.reason);
                let back: Vec<ChangedFile> = done.iter().map(inverse).collect();
                if let Err(problem) = write_all(&ground, &back, blobs, &mut Vec::new()) {
                    let reason = format!("it could not be put back: {}", problem.reason);
                    self.leave(&problem.path, reason);
                    self.files = done;
                }
            }
        }
        self
    }

    /// Keeps those that are gone, or are there again.
    fn change_directories(&mut self, ground: &WorkTreeRoot) {
        self.directories = match std::mem::take(&mut self.directories) {
            DirectoryChange::Removed(directories) => {
                // What is in a directory belongs before it.
                let inner_first = directories.into_iter().rev();
                let gone = inner_first.filter(|it| ground.remove_empty(it));
                DirectoryChange::Removed(gone.collect())
            }
            DirectoryChange::Made(directories) => {
                let mut made = BTreeSet::new();
                for path in directories {
                    match ground.make_directory(&path) {
                        Ok(()) => {
                            made.insert(path);
                        }
                        Err(reason) => self.leave(&path, reason),
                    }
                }
                DirectoryChange::Made(made)
            }
        };
    }
}

/// `None` if the file is already what it shall be.
fn decide(
    way: &FileRestore,
    sight: &PathSighting,
    blobs: &BlobStore,
) -> Result<Option<ChangedFile>, String> {
    let now = &sight.state;
    if let (FileState::Other { what }, _) | (_, FileState::Other { what }) = (&way.to, now) {
        return Err(format!("it cannot be taken back: {what}"));
    }
    if now.is_same(&way.to) {
        return Ok(None);
    }
    if way.is_broken {
        return Err("somebody else changed it between the turns".to_owned());
    }
    if !now.is_same(&way.from) {
        return Err("it was changed since".to_owned());
    }
    if let FileState::File { sha256, .. } = &way.to {
        let is_kept = blobs.get(sha256).is_some();
        is_kept.then_some(()).ok_or_else(not_kept)?;
    }
    Ok(Some(ChangedFile {
        path: way.path.clone(),
        before: now.clone(),
        after: way.to.clone(),
    }))
}

/// Tells whether a file can be written once what the turn made is gone.
fn check_way(
    file: &ChangedFile,
    sight: &PathSighting,
    removed: &BTreeSet<PathBuf>,
) -> Result<(), String> {
    if file.after == FileState::Absent {
        return Ok(());
    }
    match &sight.blocker {
        Some(blocker) if !removed.contains(blocker) => {
            return Err(format!(
                "{} is in its way: a link or a file, where a directory was",
                blocker.display()
            ));
        }
        _ => {}
    }
    if sight.is_directory && !is_emptied(&file.path, removed) {
        return Err("a directory with other files is in its place".to_owned());
    }
    Ok(())
}

/// Tells whether a directory holds nothing but directories once these files are gone.
fn is_emptied(directory: &Path, removed: &BTreeSet<PathBuf>) -> bool {
    let Ok(entries) = directory.read_dir() else {
        return false;
    };
    entries.into_iter().all(|entry| {
        entry.is_ok_and(|entry| {
            let path = entry.path();
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            removed.contains(&path) || (is_directory && is_emptied(&path, removed))
        })
    })
}

fn inverse(file: &ChangedFile) -> ChangedFile {
    ChangedFile {
        path: file.path.clone(),
        before: file.after.clone(),
        after: file.before.clone(),
    }
}

/// Why a file could not be written or removed.
struct RestoreProblem {
    path: PathBuf,
    reason: String,
}

/// Goes through the files in groups that are written together or not at all. `done` is what
/// stays done if a later group fails.
fn write_all(
    ground: &WorkTreeRoot,
    files: &[ChangedFile],
    blobs: &BlobStore,
    done: &mut Vec<ChangedFile>,
) -> Result<(), RestoreProblem> {
    let is_removal = |file: &&ChangedFile| file.after == FileState::Absent;
    let (removals, writes): (Vec<_>, Vec<_>) = files.iter().partition(is_removal);
    for group in removals
        .chunks(UNDO_STEPS_MAX)
        .chain(writes.chunks(UNDO_STEPS_MAX))
    {
        let mut steps = Vec::with_capacity(group.len());
        for file in group {
            let step = step(ground, file, blobs).map_err(|reason| RestoreProblem {
                path: file.path.clone(),
                reason,
            });
            steps.push(step?);
        }
        let written = apply::run(steps, &mut |_| Ok(()));
        written.map_err(|error| RestoreProblem {
            path: error.path().into(),
            reason: error.to_string(),
        })?;
        done.extend(group.iter().map(|file| (*file).clone()));
    }
    Ok(())
}

/// Makes a step of a file that is still as it was planned, and keeps what is in it.
fn step(ground: &WorkTreeRoot, file: &ChangedFile, blobs: &BlobStore) -> Result<PatchStep, String> {
    let changed = || "it was changed just now".to_owned();
    let sight = ground.look(&file.path);
    if !sight.state.is_same(&file.before) {
        return Err(changed());
    }
    if let Some(content) = &sight.content {
        let kept = blobs.keep(content);
        kept.map_err(|error| format!("what is in it cannot be kept: {error}"))?;
    }
    let place = ground.place(&file.path);
    let place = place.map_err(|error| error.to_string())?;
    let entry = place.look().map_err(|error| error.to_string())?;
    let (replaces, attributes) = match entry {
        TargetEntry::Absent => (None, None),
        TargetEntry::File { stamp, attributes } => (Some(stamp), Some(attributes)),
        TargetEntry::Symlink { stamp, .. } => (Some(stamp), None),
        TargetEntry::Directory => {
            let cleared = place.remove_empty_directories();
            cleared.map_err(|error| format!("a directory is in its place: {error}"))?;
            (None, None)
        }
        TargetEntry::Special => return Err(changed()),
    };
    Ok(match (&file.after, replaces) {
        (FileState::File { sha256, mode }, replaces) => PatchStep::Write {
            content: blobs.get(sha256).ok_or_else(not_kept)?,
            attributes: Some(with_mode(attributes, *mode)),
            replaces,
            place,
        },
        (FileState::Link { target }, replaces) => PatchStep::Link {
            target: target.clone(),
            replaces,
            place,
        },
        (FileState::Absent, Some(stamp)) => PatchStep::Remove { place, stamp },
        (FileState::Absent, None) | (FileState::Other { .. }, _) => return Err(changed()),
    })
}

/// A file that is there keeps its rights, but for whether it can be executed.
fn with_mode(attributes: Option<FileAttributes>, mode: u32) -> FileAttributes {
    let executable = |mode: u32| mode & 0o111 != 0;
    match attributes {
        Some(found) if executable(found.mode.bits()) == executable(mode) => found,
        found => FileAttributes {
            mode: Mode::from_bits_truncate(mode),
            user: found.map_or_else(|| geteuid().as_raw(), |it| it.user),
            group: found.map_or_else(|| getegid().as_raw(), |it| it.group),
        },
    }
}

fn not_kept() -> String {
    "its earlier contents are no longer kept".to_owned()
}

#[cfg(test)]
mod tests;
