//! Writing a plan: all of it or nothing.
//!
//! New contents are staged beside their targets first, where a full disk or a missing right
//! shows without harm. Then each step is one rename: a new file appears, an old one changes
//! places with its successor, a deleted one moves to a staged name. Until the last step has
//! succeeded every original is still there, and going back is renaming back.

mod entry_handle;

use std::fmt;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, fchmod, mkdirat};
use nix::unistd::{UnlinkatFlags, symlinkat, unlinkat};

use crate::note::PatchNote;
use crate::target::{FileAttributes, PatchTarget, TargetEntry, TargetStamp};
use entry_handle::{
    EntryHandle, copy_beside, create_staged, exchange, keep_owner, rename, rename_to_absent, unlink,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileAction {
    Added,
    Modified,
    Deleted,
}

impl fmt::Display for FileAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added => "A",
            Self::Modified => "M",
            Self::Deleted => "D",
        })
    }
}

/// A patch that was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedPatch {
    /// Added, modified and deleted files, in this order; paths as the patch spells them.
    /// A moved file is modified under its new path.
    pub files: Vec<(FileAction, String)>,
    pub notes: Vec<PatchNote>,
}

impl AppliedPatch {
    /// What the model is told: a line per file, then the notes.
    pub fn summary(&self) -> String {
        let files = self.files.iter();
        let notes = self.notes.iter();
        std::iter::once("The patch was applied. These files were updated:\n".to_owned())
            .chain(files.map(|(action, path)| format!("{action} {path}\n")))
            .chain(notes.map(|note| format!("note: {note}\n")))
            .collect()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error("{path} changed since the patch was checked; nothing was written: read it again")]
    Changed { path: String },
    #[error("failed to {attempt} {path}: {source}; nothing was changed")]
    Failed {
        attempt: &'static str,
        path: String,
        source: io::Error,
    },
    #[error("{cause}; but these could not be put back: {}", left.join(", "))]
    NotPutBack {
        cause: Box<ApplyError>,
        left: Vec<String>,
    },
}

impl ApplyError {
    /// Returns the file that is at fault.
    pub fn path(&self) -> &str {
        match self {
            Self::Changed { path } | Self::Failed { path, .. } => path,
            Self::NotPutBack { cause, .. } => cause.path(),
        }
    }
}

/// One file to be written or removed.
#[derive(Debug)]
pub enum PatchStep {
    Write {
        place: PatchTarget,
        content: Vec<u8>,
        /// Of the file before; a new one gets what the umask leaves.
        attributes: Option<FileAttributes>,
        /// The file that is expected in this place.
        replaces: Option<TargetStamp>,
    },
    /// A symbolic link is made.
    Link {
        place: PatchTarget,
        target: PathBuf,
        replaces: Option<TargetStamp>,
    },
    Remove {
        place: PatchTarget,
        stamp: TargetStamp,
    },
}

impl PatchStep {
    pub fn place(&self) -> &PatchTarget {
        match self {
            Self::Write { place, .. } | Self::Link { place, .. } | Self::Remove { place, .. } => {
                place
            }
        }
    }
}

/// Called before each change of the file system with what is about to happen; an error
/// stands for a failure of that change.
pub type Watch<'a> = &'a mut dyn FnMut(&'static str) -> io::Result<()>;

/// Performs all steps or none.
pub fn run(steps: Vec<PatchStep>, watch: Watch<'_>) -> Result<Vec<PatchNote>, ApplyError> {
    let mut work = PatchTransaction {
        undo: Vec::new(),
        notes: Vec::new(),
        watch,
    };
    match work.perform(&steps) {
        Ok(()) => Ok(work.finish()),
        Err(cause) => Err(work.put_back(cause)),
    }
}

struct PatchTransaction<'a> {
    /// What was done, so that it can be undone from the last to the first.
    undo: Vec<CompletedStep>,
    notes: Vec<PatchNote>,
    watch: Watch<'a>,
}

#[derive(Debug)]
enum CompletedStep {
    MadeDirectory(EntryHandle),
    /// A staged file holds a new content.
    Staged(EntryHandle),
    /// The staged file became the new file.
    Created {
        target: EntryHandle,
        staged: EntryHandle,
    },
    /// The staged name holds the original now.
    Exchanged {
        target: EntryHandle,
        staged: EntryHandle,
    },
    /// The original is kept under the staged name; the target is another file or gone.
    Kept {
        target: EntryHandle,
        staged: EntryHandle,
    },
}

impl PatchTransaction<'_> {
    fn perform(&mut self, steps: &[PatchStep]) -> Result<(), ApplyError> {
        let mut staged = Vec::with_capacity(steps.len());
        for step in steps {
            staged.push(self.prepare(step)?);
        }
        for (step, (target, staged)) in steps.iter().zip(staged) {
            match step {
                PatchStep::Write { replaces: None, .. }
                | PatchStep::Link { replaces: None, .. } => {
                    self.create(target, staged)?;
                }
                PatchStep::Write {
                    place,
                    replaces: Some(stamp),
                    ..
                }
                | PatchStep::Link {
                    place,
                    replaces: Some(stamp),
                    ..
                } => {
                    check_unchanged(place, *stamp)?;
                    self.exchange(target, staged)?;
                }
                PatchStep::Remove { place, stamp } => {
                    check_unchanged(place, *stamp)?;
                    self.remove(target, staged)?;
                }
            }
        }
        Ok(())
    }

    /// Makes the directories of a file and stages its content. The staged name of a file
    /// that is only removed stays unused until then.
    fn prepare(&mut self, step: &PatchStep) -> Result<(EntryHandle, EntryHandle), ApplyError> {
        let place = step.place();
        let target = EntryHandle {
            dir: self.make_directories(place)?,
            name: place.name.clone(),
            path: place.spelled.clone(),
        };
        let staged = match step {
            PatchStep::Write {
                content,
                attributes,
                ..
            } => self.stage(&target, content, *attributes)?,
            PatchStep::Link {
                target: leads_to, ..
            } => self.stage_link(&target, leads_to)?,
            PatchStep::Remove { .. } => target.staged(),
        };
        Ok((target, staged))
    }

    fn make_directories(&mut self, place: &PatchTarget) -> Result<Arc<OwnedFd>, ApplyError> {
        let failed = |errno: Errno| failure("create the directory of", &place.spelled, errno);
        let mut dir = Arc::clone(&place.dir);
        for name in &place.missing {
            (self.watch)("make directory").map_err(|error| watched(&place.spelled, error))?;
            match mkdirat(&*dir, name.as_os_str(), Mode::from_bits_truncate(0o777)) {
                Ok(()) => self.undo.push(CompletedStep::MadeDirectory(EntryHandle {
                    dir: Arc::clone(&dir),
                    name: name.clone(),
                    path: place.spelled.clone(),
                })),
                // Another file of the patch made it.
                Err(Errno::EEXIST) => {}
                Err(errno) => return Err(failed(errno)),
            }
            let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            let next = openat(&*dir, name.as_os_str(), flags, Mode::empty()).map_err(failed)?;
            dir = Arc::new(next);
        }
        Ok(dir)
    }

    fn stage(
        &mut self,
        target: &EntryHandle,
        content: &[u8],
        attributes: Option<FileAttributes>,
    ) -> Result<EntryHandle, ApplyError> {
        let failed = |error: io::Error| failure("write", &target.path, error);
        (self.watch)("stage").map_err(|error| watched(&target.path, error))?;
        // Until it has its own mode, a copy of a private file is private too.
        let mode = attributes.map_or(0o666, |_| 0o600);
        let (mut file, staged) = create_staged(target, mode).map_err(failed)?;
        self.undo.push(CompletedStep::Staged(staged.clone()));
        file.write_all(content).map_err(failed)?;
        if let Some(attributes) = attributes {
            if !keep_owner(&file, attributes).map_err(failed)? {
                self.notes.push(PatchNote::OwnerLost {
                    path: target.path.clone(),
                });
            }
            // After the owner, whose change clears some bits of the mode.
            fchmod(&file, attributes.mode).map_err(|errno| failed(errno.into()))?;
        }
        Ok(staged)
    }

    fn stage_link(
        &mut self,
        target: &EntryHandle,
        leads_to: &Path,
    ) -> Result<EntryHandle, ApplyError> {
        (self.watch)("stage").map_err(|error| watched(&target.path, error))?;
        let staged = target.staged();
        symlinkat(leads_to, &*staged.dir, staged.name.as_os_str())
            .map_err(|errno| failure("write", &target.path, errno))?;
        self.undo.push(CompletedStep::Staged(staged.clone()));
        Ok(staged)
    }

    fn create(&mut self, target: EntryHandle, staged: EntryHandle) -> Result<(), ApplyError> {
        (self.watch)("create").map_err(|error| watched(&target.path, error))?;
        match rename_to_absent(&staged, &target) {
            Ok(()) => {}
            Err(Errno::EEXIST) => return Err(ApplyError::Changed { path: target.path }),
            Err(errno) => return Err(failure("write", &target.path, errno)),
        }
        self.undo.push(CompletedStep::Created { target, staged });
        Ok(())
    }

    fn exchange(&mut self, target: EntryHandle, staged: EntryHandle) -> Result<(), ApplyError> {
        (self.watch)("exchange").map_err(|error| watched(&target.path, error))?;
        match exchange(&target, &staged) {
            Ok(()) => self.undo.push(CompletedStep::Exchanged { target, staged }),
            Err(Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP) => {
                let done = replace_with_copy_kept(target, &staged)?;
                self.undo.push(done);
            }
            Err(errno) => return Err(failure("write", &target.path, errno)),
        }
        Ok(())
    }

    fn remove(&mut self, target: EntryHandle, staged: EntryHandle) -> Result<(), ApplyError> {
        (self.watch)("remove").map_err(|error| watched(&target.path, error))?;
        rename_to_absent(&target, &staged)
            .map_err(|errno| failure("remove", &target.path, errno))?;
        self.undo.push(CompletedStep::Kept { target, staged });
        Ok(())
    }

    /// Drops the originals.
    fn finish(mut self) -> Vec<PatchNote> {
        for done in self.undo {
            let original = match done {
                CompletedStep::MadeDirectory(_)
                | CompletedStep::Staged(_)
                | CompletedStep::Created { .. } => continue,
                CompletedStep::Exchanged { staged, .. } | CompletedStep::Kept { staged, .. } => {
                    staged
                }
            };
            if let Err(errno) = unlink(&original) {
                self.notes.push(PatchNote::Leftover {
                    path: original.display(),
                    why: errno.desc().to_owned(),
                });
            }
        }
        self.notes
    }

    fn put_back(self, cause: ApplyError) -> ApplyError {
        let mut left = Vec::new();
        for done in self.undo.into_iter().rev() {
            if let Err((path, errno)) = done.undo() {
                left.push(format!("{path} ({})", errno.desc()));
            }
        }
        if left.is_empty() {
            return cause;
        }
        ApplyError::NotPutBack {
            cause: Box::new(cause),
            left,
        }
    }
}

impl CompletedStep {
    fn undo(self) -> Result<(), (String, Errno)> {
        let (result, path) = match self {
            Self::MadeDirectory(spot) => {
                let removed = unlinkat(&*spot.dir, spot.name.as_os_str(), UnlinkatFlags::RemoveDir);
                (removed, spot.display())
            }
            Self::Staged(spot) => match unlink(&spot) {
                // It replaced the target, and the kept original has taken its place back.
                Err(Errno::ENOENT) => (Ok(()), spot.display()),
                removed => (removed, spot.display()),
            },
            Self::Created { target, staged } => (rename(&target, &staged), target.path),
            Self::Exchanged { target, staged } => (exchange(&target, &staged), target.path),
            Self::Kept { target, staged } => (rename(&staged, &target), target.path),
        };
        result.map_err(|errno| (path, errno))
    }
}

fn check_unchanged(place: &PatchTarget, expected: TargetStamp) -> Result<(), ApplyError> {
    let path = || place.spelled.clone();
    let entry = place.look();
    match entry.map_err(|error| failure("look at", &place.spelled, error))? {
        TargetEntry::File { stamp, .. } | TargetEntry::Symlink { stamp, .. }
            if stamp == expected =>
        {
            Ok(())
        }
        _ => Err(ApplyError::Changed { path: path() }),
    }
}

/// For file systems that cannot exchange two names: the original is copied before the
/// staged file replaces it.
fn replace_with_copy_kept(
    target: EntryHandle,
    staged: &EntryHandle,
) -> Result<CompletedStep, ApplyError> {
    let failed = |error: io::Error| failure("write", &target.path, error);
    let kept = copy_beside(&target).map_err(failed)?;
    if let Err(errno) = rename(staged, &target) {
        // The copy is of no use any more; its name tells what it is if it must stay.
        unlink(&kept).map_err(|errno| failed(errno.into()))?;
        return Err(failed(errno.into()));
    }
    Ok(CompletedStep::Kept {
        target,
        staged: kept,
    })
}

fn failure(attempt: &'static str, path: &str, source: impl Into<io::Error>) -> ApplyError {
    ApplyError::Failed {
        attempt,
        path: path.to_owned(),
        source: source.into(),
    }
}

fn watched(path: &str, error: io::Error) -> ApplyError {
    failure("change", path, error)
}

#[cfg(test)]
mod tests;
