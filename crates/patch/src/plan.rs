//! From a patch to the contents that it makes of the files that exist.

mod draft;
mod sighting;

use std::io;
use std::path::{Path, PathBuf};

use troupe_protocol::command::{FileChange, FileChanges};

use crate::apply::{self, AppliedPatch, ApplyError, FileAction, PatchStep};
use crate::difference::{DiffContext, difference};
use crate::edit::{ChunkMismatch, EditedText, edit};
use crate::limits::{FILE_BYTES_MAX, SHOWN_BYTES_MAX};
use crate::note::PatchNote;
use crate::parse::{FileOp, Patch, PatchChunk};
use crate::target::{PatchRoots, PatchTarget, TargetEntry, TargetResolver};
use draft::{NetChange, PatchDraft};

pub use sighting::FileSighting;

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
    #[error("{path} would be a file and a directory at once")]
    InsideFile { path: String },
    #[error("the update of {path} changes nothing: it moves to itself")]
    MovesToItself { path: String },
    #[error("{path}: {mismatch}")]
    Mismatch {
        path: String,
        mismatch: ChunkMismatch,
    },
    #[error("failed to {attempt} {path}: {source}")]
    Io {
        attempt: &'static str,
        path: String,
        source: io::Error,
    },
}

impl PlanError {
    /// Whether wider [`PatchRoots`] would change the answer, so that a person may be asked.
    pub fn is_boundary(&self) -> bool {
        matches!(
            self,
            Self::Outside { .. } | Self::Protected { .. } | Self::LeadsOutside { .. }
        )
    }

    pub(crate) fn io(attempt: &'static str, path: &str, source: io::Error) -> Self {
        Self::Io {
            attempt,
            path: path.to_owned(),
            source,
        }
    }
}

/// Reads every file of the patch and computes every new content; writes nothing.
/// Blocks on the file system. Relative paths start at `cwd`, which must be absolute.
pub fn plan(patch: &Patch, cwd: &Path, roots: &PatchRoots) -> Result<PatchPlan, PlanError> {
    if patch.operations.is_empty() {
        return Err(PlanError::Empty);
    }
    let resolver = TargetResolver::new(cwd, roots)?;
    let mut planner = PatchPlanner::default();
    for operation in &patch.operations {
        match operation {
            FileOp::Add { path, content } => planner.add(resolver.resolve(path)?, content)?,
            FileOp::Delete { path } => planner.delete(resolver.resolve(path)?)?,
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
                planner.update(place, target, chunks)?;
            }
        }
    }
    planner.finish()
}

/// A patch that fits its files. Holds the directories open that it will write to.
#[derive(Debug, Default)]
pub struct PatchPlan {
    steps: Vec<PatchStep>,
    files: Vec<(FileAction, String)>,
    changes: FileChanges,
    notes: Vec<PatchNote>,
}

impl PatchPlan {
    /// The change of each file by absolute path, as people and clients are shown it.
    pub fn changes(&self) -> &FileChanges {
        &self.changes
    }

    /// Every absolute path that is written or removed, destinations of moves included.
    pub fn touched(&self) -> Vec<PathBuf> {
        let paths = self.steps.iter().map(|step| step.place().path.clone());
        paths.collect()
    }

    pub fn notes(&self) -> &[PatchNote] {
        &self.notes
    }

    /// Writes all files, or none. Blocks on the file system.
    pub fn apply(self) -> Result<AppliedPatch, ApplyError> {
        self.apply_watched(&mut |_| Ok(()))
    }

    /// Applies, and calls `watch` before each change of the file system.
    pub(crate) fn apply_watched(self, watch: apply::Watch<'_>) -> Result<AppliedPatch, ApplyError> {
        let mut notes = self.notes;
        notes.extend(apply::run(self.steps, watch)?);
        let mut files = self.files;
        files.sort_by_key(|(action, _)| *action);
        Ok(AppliedPatch { files, notes })
    }

    /// Refuses files that would stand in each other's way.
    fn check_paths(&self) -> Result<(), PlanError> {
        for (index, step) in self.steps.iter().enumerate() {
            let place = step.place();
            for other in &self.steps[index + 1..] {
                let other = other.place();
                if other.path.starts_with(&place.path) || place.path.starts_with(&other.path) {
                    let path = other.spelled.clone();
                    return Err(PlanError::InsideFile { path });
                }
            }
        }
        Ok(())
    }
}

/// Goes through the operations in their order.
#[derive(Debug, Default)]
struct PatchPlanner {
    draft: PatchDraft,
    /// What each operation does to files, as people are shown it.
    told: Vec<ReportedOperation>,
    notes: Vec<PatchNote>,
}

#[derive(Debug)]
struct ReportedOperation {
    action: FileAction,
    spelled: String,
    path: PathBuf,
    change: FileChange,
    /// The numbers of its files in the draft.
    files: Vec<usize>,
}

impl PatchPlanner {
    fn add(&mut self, place: PatchTarget, content: &str) -> Result<(), PlanError> {
        let (spelled, path) = (place.spelled.clone(), place.path.clone());
        let number = self.draft.enter(place)?;
        let file = &mut self.draft.files[number];
        let present = file.present()?;
        let change = match present {
            Some(_) => {
                let path = spelled.clone();
                self.notes.push(PatchNote::Overwrote { path });
                replaced(&file.read()?, content)
            }
            None => FileChange::Add {
                content: content.to_owned(),
            },
        };
        let attributes = present.and_then(|present| present.attributes);
        file.write(content.as_bytes().to_vec(), attributes);
        self.told.push(ReportedOperation {
            action: FileAction::Added,
            spelled,
            path,
            change,
            files: vec![number],
        });
        Ok(())
    }

    fn delete(&mut self, place: PatchTarget) -> Result<(), PlanError> {
        let (spelled, path) = (place.spelled.clone(), place.path.clone());
        let number = self.draft.enter(place)?;
        let file = &mut self.draft.files[number];
        let content = file.shown()?;
        file.remove();
        self.told.push(ReportedOperation {
            action: FileAction::Deleted,
            spelled,
            path,
            change: FileChange::Delete { content },
            files: vec![number],
        });
        Ok(())
    }

    fn update(
        &mut self,
        place: PatchTarget,
        target: Option<PatchTarget>,
        chunks: &[PatchChunk],
    ) -> Result<(), PlanError> {
        let target = match target {
            Some(target) if same(&place, &target)? => None,
            target => target,
        };
        let (spelled, path) = (place.spelled.clone(), place.path.clone());
        let number = self.draft.enter(place)?;
        let file = &self.draft.files[number];
        let Some(present) = file.present()? else {
            return Err(PlanError::NoFileToUpdate { path: spelled });
        };
        let before = file.read()?;
        let (content, unified_diff) = if chunks.is_empty() {
            if target.is_none() {
                return Err(PlanError::MovesToItself { path: spelled });
            }
            (before, String::new())
        } else {
            self.edit(&spelled, before, chunks)?
        };
        let change = FileChange::Update {
            unified_diff,
            move_path: target.as_ref().map(|target| target.path.clone()),
        };
        let mut told = ReportedOperation {
            action: FileAction::Modified,
            spelled,
            path,
            change,
            files: vec![number],
        };
        match target {
            None => self.draft.files[number].write(content, present.attributes),
            Some(target) => {
                told.spelled.clone_from(&target.spelled);
                let moved = self.draft.enter(target)?;
                told.files.push(moved);
                let file = &mut self.draft.files[moved];
                if file.present()?.is_some() {
                    let path = told.spelled.clone();
                    self.notes.push(PatchNote::Overwrote { path });
                }
                file.write(content, present.attributes);
                self.draft.files[number].remove();
            }
        }
        self.told.push(told);
        Ok(())
    }

    /// The new content of a file and the difference.
    fn edit(
        &mut self,
        spelled: &str,
        before: Vec<u8>,
        chunks: &[PatchChunk],
    ) -> Result<(Vec<u8>, String), PlanError> {
        let path = || spelled.to_owned();
        let before = String::from_utf8(before).map_err(|_| PlanError::NotText { path: path() })?;
        let EditedText { content, notes } =
            edit(spelled, &before, chunks).map_err(|mismatch| PlanError::Mismatch {
                path: path(),
                mismatch,
            })?;
        self.notes.extend(notes);
        if content == before {
            self.notes.push(PatchNote::Unchanged { path: path() });
        }
        let diff = difference(&before, &content, DiffContext::Narrow);
        Ok((content.into_bytes(), diff))
    }

    /// Operations that met in a file are shown as what they come to, the others one by one.
    fn finish(self) -> Result<PatchPlan, PlanError> {
        let mut plan = PatchPlan {
            notes: self.notes,
            ..PatchPlan::default()
        };
        let mut met: Vec<usize> = Vec::new();
        for told in self.told {
            let is_joined = |number: &usize| self.draft.files[*number].named > 1;
            if told.files.iter().any(is_joined) {
                let new = told.files.iter().filter(|number| !met.contains(number));
                let new: Vec<usize> = new.copied().collect();
                met.extend(new);
            } else {
                plan.files.push((told.action, told.spelled));
                plan.changes.insert(told.path, told.change);
            }
        }
        for number in met {
            let file = &self.draft.files[number];
            let path = file.place.spelled.clone();
            match file.net_change()? {
                NetChange::Changed(action, change) => {
                    plan.files.push((action, path));
                    plan.changes.insert(file.place.path.clone(), change);
                }
                NetChange::Unchanged => plan.notes.push(PatchNote::Unchanged { path }),
                NetChange::Passing => {}
            }
        }
        plan.steps = self.draft.into_steps();
        plan.check_paths()?;
        Ok(plan)
    }
}

fn look(place: &PatchTarget) -> Result<TargetEntry, PlanError> {
    let look = place.look();
    look.map_err(|error| PlanError::io("look at", &place.spelled, error))
}

fn same(one: &PatchTarget, other: &PatchTarget) -> Result<bool, PlanError> {
    let same = one.is(other);
    same.map_err(|error| PlanError::io("look at the directory of", &one.spelled, error))
}

/// How the replacement of a whole file is shown: what it loses matters to who approves.
fn replaced(before: &[u8], content: &str) -> FileChange {
    match std::str::from_utf8(before) {
        Ok(before) => FileChange::Update {
            unified_diff: difference(before, content, DiffContext::Narrow),
            move_path: None,
        },
        Err(_) => FileChange::Add {
            content: content.to_owned(),
        },
    }
}

/// The content of a file that is deleted, as far as it can be shown.
fn shown(place: &PatchTarget) -> Result<String, PlanError> {
    let content = match place.read() {
        Err(PlanError::TooLarge { .. }) => return Ok("(a large file)".to_owned()),
        content => content?,
    };
    Ok(shown_text(content))
}

fn shown_text(content: Vec<u8>) -> String {
    match String::from_utf8(content) {
        Ok(text) if text.len() > SHOWN_BYTES_MAX => {
            let (start, rest) = text.split_at(text.floor_char_boundary(SHOWN_BYTES_MAX));
            format!("{start}… {} bytes more", rest.len())
        }
        Ok(text) => text,
        Err(error) => format!("({} bytes that are not text)", error.as_bytes().len()),
    }
}
