//! From a patch to the contents that it makes of the files that exist.

mod found;

use std::io;
use std::path::{Path, PathBuf};

use troupe_protocol::command::{FileChange, FileChanges};

use super::apply::{self, Applied, ApplyError, FileAction, Step};
use super::difference::{Context, difference};
use super::edit::{Edited, Mismatch, edit};
use super::limits::{FILE_BYTES_MAX, SHOWN_BYTES_MAX};
use super::note::Note;
use super::parse::{Chunk, FileOp, Patch};
use super::place::{Attributes, Entry, Place, Resolver, Roots, Stamp};

pub use found::Found;

/// Why a patch cannot be applied to the files as they are; nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("the patch names no file; no files were changed")]
    Empty,
    #[error("{} is outside of the directories that may be written", path.display())]
    Outside { path: PathBuf },
    #[error("{} is protected from being written", path.display())]
    Protected { path: PathBuf },
    #[error(
        "{path} leads through a symbolic link to outside of the directories that may be written"
    )]
    LeadsOutside { path: String },
    #[error(
        "{path} is, or leads through, a symbolic link to {}; name the file itself",
        target.display()
    )]
    Symlink { path: String, target: PathBuf },
    #[error("{path} does not exist; use `*** Add File:` to create it")]
    NoFileToUpdate { path: String },
    #[error("{path} does not exist, so it cannot be deleted")]
    NoFileToDelete { path: String },
    #[error("{path} is a directory, not a file")]
    Directory { path: String },
    #[error("{path} cannot be in a directory, because a part of its path is a file")]
    ParentNotDirectory { path: String },
    #[error("{path} is a device, socket or pipe, not a file")]
    Special { path: String },
    #[error("{path} is not UTF-8 text, so it cannot be edited by a patch")]
    NotText { path: String },
    #[error("{path} is larger than {FILE_BYTES_MAX} bytes; change it with a command instead")]
    TooLarge { path: String },
    #[error("{path} is named by two operations; put all of its changes into one")]
    NamedTwice { path: String },
    #[error("{path} would be a file and a directory at once")]
    InsideFile { path: String },
    #[error("the update of {path} changes nothing: it moves to itself")]
    MovesToItself { path: String },
    #[error("{path}: {mismatch}")]
    Mismatch { path: String, mismatch: Mismatch },
    #[error("failed to {attempt} {path}: {source}")]
    Io {
        attempt: &'static str,
        path: String,
        source: io::Error,
    },
}

impl PlanError {
    /// Whether wider [`Roots`] would change the answer, so that a person may be asked.
    pub fn is_boundary(&self) -> bool {
        matches!(
            self,
            Self::Outside { .. } | Self::Protected { .. } | Self::LeadsOutside { .. }
        )
    }

    pub(super) fn io(attempt: &'static str, path: &str, source: io::Error) -> Self {
        Self::Io {
            attempt,
            path: path.to_owned(),
            source,
        }
    }
}

/// Reads every file of the patch and computes every new content; writes nothing.
/// Blocks on the file system. Relative paths start at `cwd`, which must be absolute.
pub fn plan(patch: &Patch, cwd: &Path, roots: &Roots) -> Result<Plan, PlanError> {
    if patch.operations.is_empty() {
        return Err(PlanError::Empty);
    }
    let resolver = Resolver::new(cwd, roots)?;
    let mut plan = Plan::default();
    for operation in &patch.operations {
        match operation {
            FileOp::Add { path, content } => plan.add(resolver.resolve(path)?, content)?,
            FileOp::Delete { path } => plan.delete(resolver.resolve(path)?)?,
            FileOp::Update {
                path,
                move_to,
                chunks,
            } => {
                let place = resolver.resolve(path)?;
                let target = match move_to {
                    Some(target) => Some(resolver.resolve(target)?),
                    None => None,
                };
                plan.update(place, target, chunks)?;
            }
        }
    }
    plan.check_paths()?;
    Ok(plan)
}

/// A patch that fits its files. Holds the directories open that it will write to.
#[derive(Debug, Default)]
pub struct Plan {
    steps: Vec<Step>,
    files: Vec<(FileAction, String)>,
    changes: FileChanges,
    notes: Vec<Note>,
}

impl Plan {
    /// The change of each file by absolute path, as people and clients are shown it.
    pub fn changes(&self) -> &FileChanges {
        &self.changes
    }

    /// Every absolute path that is written or removed, destinations of moves included.
    pub fn touched(&self) -> Vec<PathBuf> {
        let paths = self.steps.iter().map(|step| step.place().path.clone());
        paths.collect()
    }

    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Writes all files, or none. Blocks on the file system.
    pub fn apply(self) -> Result<Applied, ApplyError> {
        self.apply_watched(&mut |_| Ok(()))
    }

    /// Applies, and calls `watch` before each change of the file system.
    pub(super) fn apply_watched(self, watch: apply::Watch<'_>) -> Result<Applied, ApplyError> {
        let mut notes = self.notes;
        notes.extend(apply::run(self.steps, watch)?);
        let mut files = self.files;
        files.sort_by_key(|(action, _)| *action);
        Ok(Applied { files, notes })
    }

    fn add(&mut self, place: Place, content: &str) -> Result<(), PlanError> {
        let before = existing(&place)?;
        let change = match &before {
            Some(_) => {
                self.note(Note::Overwrote {
                    path: place.spelled.clone(),
                });
                replaced(&place.read()?, content)
            }
            None => FileChange::Add {
                content: content.to_owned(),
            },
        };
        self.record(FileAction::Added, &place.spelled, &place.path, change);
        self.steps.push(Step::Write {
            attributes: before.map(|(_, attributes)| attributes),
            replaces: before.map(|(stamp, _)| stamp),
            content: content.as_bytes().to_vec(),
            place,
        });
        Ok(())
    }

    fn delete(&mut self, place: Place) -> Result<(), PlanError> {
        let path = || place.spelled.clone();
        let (stamp, content) = match look(&place)? {
            Entry::File { stamp, .. } => (stamp, shown(&place)?),
            Entry::Symlink { stamp, target } => (stamp, target.display().to_string()),
            Entry::Absent => return Err(PlanError::NoFileToDelete { path: path() }),
            Entry::Directory => return Err(PlanError::Directory { path: path() }),
            Entry::Special => return Err(PlanError::Special { path: path() }),
        };
        let change = FileChange::Delete { content };
        self.record(FileAction::Deleted, &place.spelled, &place.path, change);
        self.steps.push(Step::Remove { place, stamp });
        Ok(())
    }

    fn update(
        &mut self,
        place: Place,
        target: Option<Place>,
        chunks: &[Chunk],
    ) -> Result<(), PlanError> {
        let target = match target {
            Some(target) if same(&place, &target)? => None,
            target => target,
        };
        let spelled = place.spelled.clone();
        let Some((stamp, attributes)) = existing(&place)? else {
            return Err(PlanError::NoFileToUpdate { path: spelled });
        };
        let before = place.read()?;
        let (content, change) = if chunks.is_empty() {
            if target.is_none() {
                return Err(PlanError::MovesToItself { path: spelled });
            }
            (before, String::new())
        } else {
            self.edit(&spelled, before, chunks)?
        };
        let change = FileChange::Update {
            unified_diff: change,
            move_path: target.as_ref().map(|target| target.path.clone()),
        };
        let Some(target) = target else {
            self.record(FileAction::Modified, &spelled, &place.path, change);
            self.steps.push(Step::Write {
                place,
                content,
                attributes: Some(attributes),
                replaces: Some(stamp),
            });
            return Ok(());
        };
        let replaced = existing(&target)?.map(|(stamp, _)| stamp);
        if replaced.is_some() {
            self.note(Note::Overwrote {
                path: target.spelled.clone(),
            });
        }
        self.record(FileAction::Modified, &target.spelled, &place.path, change);
        self.steps.push(Step::Write {
            place: target,
            content,
            attributes: Some(attributes),
            replaces: replaced,
        });
        self.steps.push(Step::Remove { place, stamp });
        Ok(())
    }

    /// The new content of a file and the difference.
    fn edit(
        &mut self,
        spelled: &str,
        before: Vec<u8>,
        chunks: &[Chunk],
    ) -> Result<(Vec<u8>, String), PlanError> {
        let path = || spelled.to_owned();
        let before = String::from_utf8(before).map_err(|_| PlanError::NotText { path: path() })?;
        let Edited { content, notes } =
            edit(spelled, &before, chunks).map_err(|mismatch| PlanError::Mismatch {
                path: path(),
                mismatch,
            })?;
        self.notes.extend(notes);
        if content == before {
            self.note(Note::Unchanged { path: path() });
        }
        let diff = difference(&before, &content, Context::Narrow);
        Ok((content.into_bytes(), diff))
    }

    fn note(&mut self, note: Note) {
        self.notes.push(note);
    }

    fn record(&mut self, action: FileAction, spelled: &str, path: &Path, change: FileChange) {
        self.files.push((action, spelled.to_owned()));
        self.changes.insert(path.to_owned(), change);
    }

    /// Refuses operations that meet: they were computed apart, from the files as they are.
    fn check_paths(&self) -> Result<(), PlanError> {
        for (index, step) in self.steps.iter().enumerate() {
            let place = step.place();
            for other in &self.steps[index + 1..] {
                let other = other.place();
                let path = || other.spelled.clone();
                if same(place, other)? {
                    return Err(PlanError::NamedTwice { path: path() });
                }
                if other.path.starts_with(&place.path) || place.path.starts_with(&other.path) {
                    return Err(PlanError::InsideFile { path: path() });
                }
            }
        }
        Ok(())
    }
}

fn look(place: &Place) -> Result<Entry, PlanError> {
    let look = place.look();
    look.map_err(|error| PlanError::io("look at", &place.spelled, error))
}

fn same(one: &Place, other: &Place) -> Result<bool, PlanError> {
    let same = one.is(other);
    same.map_err(|error| PlanError::io("look at the directory of", &one.spelled, error))
}

/// The regular file at a place that is to be written, if there is one.
fn existing(place: &Place) -> Result<Option<(Stamp, Attributes)>, PlanError> {
    let path = place.spelled.clone();
    match look(place)? {
        Entry::Absent => Ok(None),
        Entry::File { stamp, attributes } => Ok(Some((stamp, attributes))),
        Entry::Symlink { target, .. } => Err(PlanError::Symlink { path, target }),
        Entry::Directory => Err(PlanError::Directory { path }),
        Entry::Special => Err(PlanError::Special { path }),
    }
}

/// How the replacement of a whole file is shown: what it loses matters to who approves.
fn replaced(before: &[u8], content: &str) -> FileChange {
    match std::str::from_utf8(before) {
        Ok(before) => FileChange::Update {
            unified_diff: difference(before, content, Context::Narrow),
            move_path: None,
        },
        Err(_) => FileChange::Add {
            content: content.to_owned(),
        },
    }
}

/// The content of a file that is deleted, as far as it can be shown.
fn shown(place: &Place) -> Result<String, PlanError> {
    let content = match place.read() {
        Err(PlanError::TooLarge { .. }) => return Ok("(a large file)".to_owned()),
        content => content?,
    };
    Ok(match String::from_utf8(content) {
        Ok(text) if text.len() > SHOWN_BYTES_MAX => {
            let (start, rest) = text.split_at(text.floor_char_boundary(SHOWN_BYTES_MAX));
            format!("{start}… {} bytes more", rest.len())
        }
        Ok(text) => text,
        Err(error) => format!("({} bytes that are not text)", error.as_bytes().len()),
    })
}
