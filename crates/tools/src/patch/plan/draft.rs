//! The files of a patch while its operations are gone through, each in the state that the
//! operations before have left it in.
//!
//! A patch may name a file more than once: change it twice, delete it and add another, let two
//! change places by moves. Nothing is written meanwhile; in the end each file is written or
//! removed once, or not at all.

use troupe_protocol::command::FileChange;

use super::{FileAction, PlanError, look, same, shown};
use crate::patch::apply::Step;
use crate::patch::difference::{Context, difference};
use crate::patch::place::{Attributes, Entry, Place, Stamp};

/// One file, by its place.
#[derive(Debug)]
pub(super) struct DraftFile {
    pub place: Place,
    found: FoundFile,
    now: DraftState,
    /// How many operations have named it.
    pub named: usize,
}

/// What is there before the patch.
#[derive(Debug)]
enum FoundFile {
    Absent,
    File {
        stamp: Stamp,
        attributes: Attributes,
    },
    Link {
        stamp: Stamp,
    },
}

/// What the operations so far have made of it.
#[derive(Debug)]
enum DraftState {
    AsFound,
    Absent,
    Written {
        content: Vec<u8>,
        attributes: Option<Attributes>,
    },
}

/// A regular file that is there now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Present {
    pub attributes: Option<Attributes>,
}

/// All files of a patch.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub files: Vec<DraftFile>,
}

impl Draft {
    /// Returns the number of the file at a place. It counts as named once more.
    pub(super) fn enter(&mut self, place: Place) -> Result<usize, PlanError> {
        for (number, file) in self.files.iter_mut().enumerate() {
            if same(&file.place, &place)? {
                file.named += 1;
                return Ok(number);
            }
        }
        let path = || place.spelled.clone();
        let found = match look(&place)? {
            Entry::Absent => FoundFile::Absent,
            Entry::File { stamp, attributes } => FoundFile::File { stamp, attributes },
            Entry::Symlink { stamp, .. } => FoundFile::Link { stamp },
            Entry::Directory => return Err(PlanError::Directory { path: path() }),
            Entry::Special => return Err(PlanError::Special { path: path() }),
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
    pub(super) fn into_steps(self) -> Vec<Step> {
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
    pub(super) fn present(&self) -> Result<Option<Present>, PlanError> {
        match (&self.now, &self.found) {
            (DraftState::Absent, _) | (DraftState::AsFound, FoundFile::Absent) => Ok(None),
            (DraftState::Written { attributes, .. }, _) => Ok(Some(Present {
                attributes: *attributes,
            })),
            (DraftState::AsFound, FoundFile::File { attributes, .. }) => Ok(Some(Present {
                attributes: Some(*attributes),
            })),
            (DraftState::AsFound, FoundFile::Link { .. }) => Err(self.link_error()?),
        }
    }

    fn link_error(&self) -> Result<PlanError, PlanError> {
        let path = self.place.spelled.clone();
        Ok(match look(&self.place)? {
            Entry::Symlink { target, .. } => PlanError::Symlink { path, target },
            Entry::Absent | Entry::File { .. } | Entry::Directory | Entry::Special => {
                PlanError::Special { path }
            }
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
            (DraftState::Absent, _) | (DraftState::AsFound, FoundFile::Absent) => {
                let path = self.place.spelled.clone();
                Err(PlanError::NoFileToDelete { path })
            }
            (DraftState::Written { content, .. }, _) => Ok(super::shown_text(content.clone())),
            (DraftState::AsFound, FoundFile::File { .. }) => shown(&self.place),
            (DraftState::AsFound, FoundFile::Link { .. }) => Ok(match look(&self.place)? {
                Entry::Symlink { target, .. } => target.display().to_string(),
                Entry::Absent | Entry::File { .. } | Entry::Directory | Entry::Special => {
                    String::new()
                }
            }),
        }
    }

    pub(super) fn write(&mut self, content: Vec<u8>, attributes: Option<Attributes>) {
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
            (FoundFile::Absent, DraftState::Absent | DraftState::AsFound) => {
                return Ok(NetChange::Passing);
            }
            (FoundFile::File { .. } | FoundFile::Link { .. }, DraftState::AsFound) => {
                return Ok(NetChange::Unchanged);
            }
            (FoundFile::Absent, DraftState::Written { content, .. }) => {
                let content = text(content);
                (FileAction::Added, FileChange::Add { content })
            }
            (FoundFile::File { .. }, DraftState::Absent) => {
                let content = shown(&self.place)?;
                (FileAction::Deleted, FileChange::Delete { content })
            }
            (FoundFile::Link { .. }, DraftState::Absent) => {
                let content = String::new();
                (FileAction::Deleted, FileChange::Delete { content })
            }
            (FoundFile::Link { .. }, DraftState::Written { content, .. }) => {
                let content = text(content);
                (FileAction::Modified, FileChange::Add { content })
            }
            (FoundFile::File { .. }, DraftState::Written { content, .. }) => {
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
                        unified_diff: difference(&before, after, Context::Narrow),
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

    fn into_step(self) -> Option<Step> {
        let Self {
            place, found, now, ..
        } = self;
        let stamp = match found {
            FoundFile::Absent => None,
            FoundFile::File { stamp, .. } | FoundFile::Link { stamp } => Some(stamp),
        };
        match now {
            DraftState::AsFound => None,
            DraftState::Absent => stamp.map(|stamp| Step::Remove { place, stamp }),
            DraftState::Written {
                content,
                attributes,
            } => Some(Step::Write {
                place,
                content,
                attributes,
                replaces: stamp,
            }),
        }
    }
}
