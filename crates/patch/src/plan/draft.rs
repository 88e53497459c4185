//! The files of a patch while its operations are gone through, each in the state that the
//! operations before have left it in.
//!
//! A patch may name a file more than once: change it twice, delete it and add another, let two
//! change places by moves. Nothing is written meanwhile; in the end each file is written or
//! removed once, or not at all.

use troupe_protocol::command::FileChange;

use super::{FileAction, PlanError, look, same, shown};
use crate::apply::PatchStep;
use crate::difference::{DiffContext, difference};
use crate::target::{FileAttributes, PatchTarget, TargetEntry, TargetStamp};

/// One file, by its place.
#[derive(Debug)]
pub(super) struct DraftFile {
    pub place: PatchTarget,
    found: OriginalFile,
    now: DraftState,
    /// How many operations have named it.
    pub named: usize,
}

/// What is there before the patch.
#[derive(Debug)]
enum OriginalFile {
    Absent,
    File {
        stamp: TargetStamp,
        attributes: FileAttributes,
    },
    Link {
        stamp: TargetStamp,
    },
}

/// What the operations so far have made of it.
#[derive(Debug)]
enum DraftState {
    AsFound,
    Absent,
    Written {
        content: Vec<u8>,
        attributes: Option<FileAttributes>,
    },
}

/// A regular file that is there now.
#[derive(Debug, Clone, Copy)]
pub(super) struct PresentFile {
    pub attributes: Option<FileAttributes>,
}

/// All files of a patch.
#[derive(Debug, Default)]
pub(super) struct PatchDraft {
    pub files: Vec<DraftFile>,
}

impl PatchDraft {
    /// Returns the number of the file at a place. It counts as named once more.
    pub(super) fn enter(&mut self, place: PatchTarget) -> Result<usize, PlanError> {
        for (number, file) in self.files.iter_mut().enumerate() {
            if same(&file.place, &place)? {
                file.named += 1;
                return Ok(number);
            }
        }
        let path = || place.spelled.clone();
        let found = match look(&place)? {
            TargetEntry::Absent => OriginalFile::Absent,
            TargetEntry::File { stamp, attributes } => OriginalFile::File { stamp, attributes },
            TargetEntry::Symlink { stamp, .. } => OriginalFile::Link { stamp },
            TargetEntry::Directory => return Err(PlanError::Directory { path: path() }),
            TargetEntry::Special => return Err(PlanError::Special { path: path() }),
        };
        self.files.push(DraftFile {
            place,
            found,
            now: DraftState::AsFound,
            named: 1,
        });
        Ok(self.files.len() - 1)
    }

    /// Turns the files into steps, each at most one.
    pub(super) fn into_steps(self) -> Vec<PatchStep> {
        let steps = self.files.into_iter().filter_map(DraftFile::into_step);
        steps.collect()
    }
}

/// What a patch comes to for one file.
#[derive(Debug)]
pub(super) enum NetChange {
    Changed(FileAction, FileChange),
    /// It is as it was.
    Unchanged,
    /// It was not there before and is not after: a place to put something down.
    Passing,
}

impl DraftFile {
    /// The regular file that stands here now, if there is one. A link is refused.
    pub(super) fn present(&self) -> Result<Option<PresentFile>, PlanError> {
        match (&self.now, &self.found) {
            (DraftState::Absent, _) | (DraftState::AsFound, OriginalFile::Absent) => Ok(None),
            (DraftState::Written { attributes, .. }, _) => Ok(Some(PresentFile {
                attributes: *attributes,
            })),
            (DraftState::AsFound, OriginalFile::File { attributes, .. }) => Ok(Some(PresentFile {
                attributes: Some(*attributes),
            })),
            (DraftState::AsFound, OriginalFile::Link { .. }) => Err(self.link_error()?),
        }
    }

    fn link_error(&self) -> Result<PlanError, PlanError> {
        let path = self.place.spelled.clone();
        Ok(match look(&self.place)? {
            TargetEntry::Symlink { target, .. } => PlanError::Symlink { path, target },
            TargetEntry::Absent
            | TargetEntry::File { .. }
            | TargetEntry::Directory
            | TargetEntry::Special => PlanError::Special { path },
        })
    }

    pub(super) fn read(&self) -> Result<Vec<u8>, PlanError> {
        match &self.now {
            DraftState::Written { content, .. } => Ok(content.clone()),
            DraftState::AsFound | DraftState::Absent => self.place.read(),
        }
    }

    /// Returns how a deletion is shown; an error if there is nothing to delete.
    pub(super) fn shown(&self) -> Result<String, PlanError> {
        match (&self.now, &self.found) {
            (DraftState::Absent, _) | (DraftState::AsFound, OriginalFile::Absent) => {
                let path = self.place.spelled.clone();
                Err(PlanError::NoFileToDelete { path })
            }
            (DraftState::Written { content, .. }, _) => Ok(super::shown_text(content.clone())),
            (DraftState::AsFound, OriginalFile::File { .. }) => shown(&self.place),
            (DraftState::AsFound, OriginalFile::Link { .. }) => Ok(match look(&self.place)? {
                TargetEntry::Symlink { target, .. } => target.display().to_string(),
                TargetEntry::Absent
                | TargetEntry::File { .. }
                | TargetEntry::Directory
                | TargetEntry::Special => String::new(),
            }),
        }
    }

    pub(super) fn write(&mut self, content: Vec<u8>, attributes: Option<FileAttributes>) {
        self.now = DraftState::Written {
            content,
            attributes,
        };
    }

    pub(super) fn remove(&mut self) {
        self.now = DraftState::Absent;
    }

    /// What all operations together do to the file.
    pub(super) fn net_change(&self) -> Result<NetChange, PlanError> {
        let text = |content: &[u8]| String::from_utf8_lossy(content).into_owned();
        let (action, change) = match (&self.found, &self.now) {
            (OriginalFile::Absent, DraftState::Absent | DraftState::AsFound) => {
                return Ok(NetChange::Passing);
            }
            (OriginalFile::File { .. } | OriginalFile::Link { .. }, DraftState::AsFound) => {
                return Ok(NetChange::Unchanged);
            }
            (OriginalFile::Absent, DraftState::Written { content, .. }) => {
                let content = text(content);
                (FileAction::Added, FileChange::Add { content })
            }
            (OriginalFile::File { .. }, DraftState::Absent) => {
                let content = shown(&self.place)?;
                (FileAction::Deleted, FileChange::Delete { content })
            }
            (OriginalFile::Link { .. }, DraftState::Absent) => {
                let content = String::new();
                (FileAction::Deleted, FileChange::Delete { content })
            }
            (OriginalFile::Link { .. }, DraftState::Written { content, .. }) => {
                let content = text(content);
                (FileAction::Modified, FileChange::Add { content })
            }
            (OriginalFile::File { .. }, DraftState::Written { content, .. }) => {
                let before = match self.place.read() {
                    Err(PlanError::TooLarge { .. }) => None,
                    before => Some(before?),
                };
                if before.as_ref() == Some(content) {
                    return Ok(NetChange::Unchanged);
                }
                let before = before.and_then(|before| String::from_utf8(before).ok());
                let change = match (before, std::str::from_utf8(content)) {
                    (Some(before), Ok(after)) => FileChange::Update {
                        unified_diff: difference(&before, after, DiffContext::Narrow),
                        move_path: None,
                    },
                    _ => FileChange::Add {
                        content: text(content),
                    },
                };
                (FileAction::Modified, change)
            }
        };
        Ok(NetChange::Changed(action, change))
    }

    fn into_step(self) -> Option<PatchStep> {
        let Self {
            place, found, now, ..
        } = self;
        let stamp = match found {
            OriginalFile::Absent => None,
            OriginalFile::File { stamp, .. } | OriginalFile::Link { stamp } => Some(stamp),
        };
        match now {
            DraftState::AsFound => None,
            DraftState::Absent => stamp.map(|stamp| PatchStep::Remove { place, stamp }),
            DraftState::Written {
                content,
                attributes,
            } => Some(PatchStep::Write {
                place,
                content,
                attributes,
                replaces: stamp,
            }),
        }
    }
}
