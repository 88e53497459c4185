//! Going the ways back: what can be done about each file as it is now, and doing it.

use std::path::{Path, PathBuf};

use nix::sys::stat::Mode;
use nix::unistd::{getegid, geteuid};
use troupe_protocol::undo::{ChangedFile, FileState, UndoConflict};

use super::blobs::Blobs;
use super::ledger::Way;
use super::look::{other, sha256};
use crate::limits::UNDO_STEPS_MAX;
use crate::patch::Roots;
use crate::patch::apply::{self, Step};
use crate::patch::place::{Attributes, Entry, Place, Resolver};

/// What an undo will do. Everything that it overwrites is kept.
#[derive(Debug, Default)]
pub struct Plan {
    /// Each file that is written or removed, as it is and as it will be.
    pub files: Vec<ChangedFile>,
    pub conflicts: Vec<UndoConflict>,
    root: PathBuf,
}

impl Plan {
    pub fn restored(&self) -> Vec<PathBuf> {
        self.paths(|after| matches!(after, FileState::File { .. }))
    }

    pub fn removed(&self) -> Vec<PathBuf> {
        self.paths(|after| *after == FileState::Absent)
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

    /// Looks at each file and keeps what would be overwritten. `root` is where the session
    /// works. Blocks on the file system.
    pub(super) fn make(ways: Vec<Way>, root: &Path, blobs: &Blobs) -> Self {
        let mut plan = Self {
            root: root.to_owned(),
            ..Self::default()
        };
        for way in ways {
            match plan.decide(&way, blobs) {
                Ok(Some(file)) => plan.files.push(file),
                Ok(None) => {}
                Err(reason) => plan.leave(&way.path, reason),
            }
        }
        plan
    }

    /// `None` if the file is already what it shall be.
    fn decide(&self, way: &Way, blobs: &Blobs) -> Result<Option<ChangedFile>, String> {
        let place = resolve(&self.root, &way.path)?;
        let (now, content) = look(&place);
        if now.is_same(&way.to) {
            return Ok(None);
        }
        if way.is_broken {
            return Err("somebody else changed it between the turns".to_owned());
        }
        if !now.is_same(&way.from) {
            return Err("it was changed since".to_owned());
        }
        match &way.to {
            FileState::Absent => {}
            FileState::Other { what } => return Err(format!("it was not kept: {what}")),
            FileState::File { sha256, .. } => {
                let is_kept = blobs.get(sha256).is_some();
                is_kept.then_some(()).ok_or_else(not_kept)?;
            }
        }
        if let Some(content) = content {
            let kept = blobs.keep(&content);
            kept.map_err(|error| format!("what is in it cannot be kept: {error}"))?;
        }
        Ok(Some(ChangedFile {
            path: way.path.clone(),
            before: now,
            after: way.to.clone(),
        }))
    }

    /// Writes and removes the files, as many at once as can be put back together. What could
    /// not be done is a conflict afterwards. Blocks on the file system.
    pub(super) fn perform(mut self, blobs: &Blobs) -> Self {
        let mut files = std::mem::take(&mut self.files).into_iter().peekable();
        while files.peek().is_some() {
            let group: Vec<ChangedFile> = files.by_ref().take(UNDO_STEPS_MAX).collect();
            match write(&self.root, &group, blobs) {
                Ok(()) => self.files.extend(group),
                Err(problem) => {
                    for file in group {
                        self.leave(&file.path, problem.clone());
                    }
                }
            }
        }
        self
    }
}

fn write(root: &Path, files: &[ChangedFile], blobs: &Blobs) -> Result<(), String> {
    let steps: Result<Vec<Step>, String> =
        files.iter().map(|file| step(root, file, blobs)).collect();
    let written = apply::run(steps?, &mut |_| Ok(()));
    written.map(drop).map_err(|error| error.to_string())
}

fn step(root: &Path, file: &ChangedFile, blobs: &Blobs) -> Result<Step, String> {
    let place = resolve(root, &file.path)?;
    let entry = place.look().map_err(|error| error.to_string())?;
    let (stamp, attributes) = match entry {
        Entry::Absent => (None, None),
        Entry::File { stamp, attributes } => (Some(stamp), Some(attributes)),
        Entry::Symlink { stamp, .. } => (Some(stamp), None),
        Entry::Directory | Entry::Special => return Err("it was changed just now".to_owned()),
    };
    match (&file.after, stamp) {
        (FileState::File { sha256, mode }, stamp) => Ok(Step::Write {
            content: blobs.get(sha256).ok_or_else(not_kept)?,
            attributes: Some(with_mode(attributes, *mode)),
            replaces: stamp,
            place,
        }),
        (FileState::Absent, Some(stamp)) => Ok(Step::Remove { place, stamp }),
        (FileState::Absent, None) | (FileState::Other { .. }, _) => {
            Err("it was changed just now".to_owned())
        }
    }
}

/// A file that is there keeps its rights, but for whether it can be executed.
fn with_mode(attributes: Option<Attributes>, mode: u32) -> Attributes {
    let executable = |mode: u32| mode & 0o111 != 0;
    match attributes {
        Some(found) if executable(found.mode.bits()) == executable(mode) => found,
        found => Attributes {
            mode: Mode::from_bits_truncate(mode),
            user: found.map_or_else(|| geteuid().as_raw(), |it| it.user),
            group: found.map_or_else(|| getegid().as_raw(), |it| it.group),
        },
    }
}

/// Finds the place of a file beneath the directory that the session works in. One elsewhere
/// was written with a person's agreement, and is reached without links only.
fn resolve(root: &Path, path: &Path) -> Result<Place, String> {
    let beneath = if path.starts_with(root) {
        root
    } else {
        let parent = path.parent().ok_or("it is not a file")?;
        let real = parent.canonicalize();
        let real = real.map_err(|error| format!("its directory is not there: {error}"))?;
        if real != parent {
            return Err("a symbolic link leads to it".to_owned());
        }
        parent
    };
    let roots = Roots::Within {
        writable: vec![beneath.to_owned()],
        protected: Vec::new(),
        protected_names: Vec::new(),
    };
    let spelled = path.to_str().ok_or("its name is not UTF-8")?;
    let resolver = Resolver::new(beneath, &roots).map_err(|error| error.to_string())?;
    resolver.resolve(spelled).map_err(|error| error.to_string())
}

fn look(place: &Place) -> (FileState, Option<Vec<u8>>) {
    match place.look() {
        Ok(Entry::Absent) => (FileState::Absent, None),
        Ok(Entry::File { attributes, .. }) => match place.read() {
            Ok(content) => {
                let state = FileState::File {
                    sha256: sha256(&content),
                    mode: attributes.mode.bits() & 0o7777,
                };
                (state, Some(content))
            }
            Err(error) => (other(error.to_string()), None),
        },
        Ok(Entry::Symlink { .. }) => (other("it is a symbolic link"), None),
        Ok(Entry::Directory) => (other("it is a directory"), None),
        Ok(Entry::Special) => (other("it is not a regular file"), None),
        Err(error) => (other(error.to_string()), None),
    }
}

fn not_kept() -> String {
    "its earlier contents are no longer kept".to_owned()
}
