//! The undo ledger: which tasks changed which files, folded from one log.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use troupe_protocol::SubmissionId;
use troupe_protocol::undo::{ChangedFile, FileBefore, FileFact, FileState, FileTree};

/// The turns of a session that changed files, oldest first.
#[derive(Debug, Default)]
pub struct UndoLedger {
    entries: Vec<UndoEntry>,
    /// Undos that were not taken back, oldest first.
    undos: Vec<PastUndo>,
    /// A turn that has begun and not ended.
    open: Option<CutOffTask>,
    /// Turns of which nothing is known but that they may have changed files, oldest first.
    unknown: Vec<UnseenTask>,
}

#[derive(Debug)]
struct UnseenTask {
    turn_id: SubmissionId,
    /// How many turns with known changes came before it.
    after: usize,
    why: String,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoEntry {
    pub turn_id: SubmissionId,
    pub known: KnownChanges,
    undone: bool,
}

/// What is known of a turn's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownChanges {
    Ended {
        files: Vec<ChangedFile>,
        /// Directories that it made.
        directories: Vec<PathBuf>,
        unseen: Vec<String>,
    },
    /// The engine died before the end was looked at: what is there now counts as its work.
    CutOff(CutOffTask),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutOffTask {
    turn_id: SubmissionId,
    pub tree: Option<FileTree>,
    pub touched: Vec<FileBefore>,
}

/// An undo that was not taken back.
#[derive(Debug)]
pub struct PastUndo {
    numbers: Vec<u32>,
    pub files: Vec<ChangedFile>,
    /// Directories that it removed.
    pub directories: Vec<PathBuf>,
}

/// Why there is nothing to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NothingToUndo {
    #[error(
        "no turn is known to have changed files; what commands change is seen in a git \
         repository only"
    )]
    NoTurn,
    #[error(
        "nothing is left to undo: every turn that changed files is undone already; `troupe undo \
         --redo` brings the last one back"
    )]
    AllUndone,
    #[error(
        "nothing can be taken back: {turn_id} ran commands, and what they changed is not known ({why})"
    )]
    Unknown { turn_id: SubmissionId, why: String },
    #[error("{wanted} turns cannot be taken back; between 1 and {available} can")]
    TooMany { wanted: u32, available: usize },
    #[error("there is no undo that could be taken back")]
    NoUndo,
}

impl UndoLedger {
    /// Takes the lines in the order of the log.
    pub fn fold(facts: impl IntoIterator<Item = FileFact>) -> Self {
        let mut ledger = Self::default();
        for fact in facts {
            ledger.apply(fact);
        }
        ledger.cut_off();
        ledger
    }

    fn apply(&mut self, fact: FileFact) {
        match fact {
            FileFact::Tree { turn_id, tree } => {
                self.open(turn_id).tree.get_or_insert(tree);
            }
            FileFact::Touching { turn_id, files } => {
                let touched = &mut self.open(turn_id).touched;
                for file in files {
                    // The first look counts.
                    if !touched.iter().any(|known| known.path == file.path) {
                        touched.push(file);
                    }
                }
            }
            FileFact::Changed {
                turn_id,
                files,
                directories,
                unseen,
            } => {
                if self.open.as_ref().is_some_and(|it| it.turn_id == turn_id) {
                    self.open = None;
                }
                self.cut_off();
                // Nothing is to be taken back of others; a crash can leave such a line's turn open.
                if !files.is_empty() || !directories.is_empty() {
                    let known = KnownChanges::Ended {
                        files,
                        directories,
                        unseen,
                    };
                    self.enter(turn_id, known);
                } else if !unseen.is_empty() {
                    self.unknown.push(UnseenTask {
                        turn_id,
                        after: self.entries.len(),
                        why: unseen.join("; "),
                    });
                }
            }
            FileFact::Undone {
                numbers,
                files,
                directories,
            } => {
                self.cut_off();
                self.mark(&numbers, true);
                self.undos.push(PastUndo {
                    numbers,
                    files,
                    directories,
                });
            }
            FileFact::Redone => {
                self.cut_off();
                if let Some(undo) = self.undos.pop() {
                    self.mark(&undo.numbers, false);
                }
            }
        }
    }

    /// Returns the turn that is at work; another one was cut off.
    fn open(&mut self, turn_id: SubmissionId) -> &mut CutOffTask {
        if self.open.as_ref().is_some_and(|it| it.turn_id != turn_id) {
            self.cut_off();
        }
        self.open.get_or_insert_with(|| CutOffTask {
            turn_id,
            tree: None,
            touched: Vec::new(),
        })
    }

    fn cut_off(&mut self) {
        if let Some(open) = self.open.take() {
            self.enter(open.turn_id.clone(), KnownChanges::CutOff(open));
        }
    }

    fn enter(&mut self, turn_id: SubmissionId, known: KnownChanges) {
        self.entries.push(UndoEntry {
            turn_id,
            known,
            undone: false,
        });
    }

    fn mark(&mut self, numbers: &[u32], undone: bool) {
        for number in numbers {
            if let Some(entry) = self.entries.get_mut(*number as usize) {
                entry.undone = undone;
            }
        }
    }

    /// Returns the last turns that were not taken back, newest first, with their numbers.
    pub fn last(&self, wanted: u32) -> Result<Vec<(u32, &UndoEntry)>, NothingToUndo> {
        let numbered = (0..).zip(&self.entries).collect::<Vec<(u32, &UndoEntry)>>();
        let done = numbered.into_iter().rev().filter(|(_, it)| !it.undone);
        let done: Vec<_> = done.collect();
        let available = done.len();
        if available == 0 {
            return Err(match self.unknown.last() {
                Some(turn) => NothingToUndo::Unknown {
                    turn_id: turn.turn_id.clone(),
                    why: turn.why.clone(),
                },
                None if self.entries.is_empty() => NothingToUndo::NoTurn,
                None => NothingToUndo::AllUndone,
            });
        }
        if wanted == 0 || wanted as usize > available {
            return Err(NothingToUndo::TooMany { wanted, available });
        }
        Ok(done.into_iter().take(wanted as usize).collect())
    }

    /// Counts the files that tasks changed which were not taken back; one that was cut off
    /// counts by what it was about to touch.
    pub fn standing_files(&self) -> usize {
        let standing = self.entries.iter().filter(|entry| !entry.undone);
        let paths = standing.flat_map(|entry| match &entry.known {
            KnownChanges::Ended { files, .. } => files.iter().map(|it| &it.path).collect(),
            KnownChanges::CutOff(cut) => cut.touched.iter().map(|it| &it.path).collect::<Vec<_>>(),
        });
        paths.collect::<BTreeSet<&PathBuf>>().len()
    }

    /// Says which later turns stay as they are when those from this number on are taken back,
    /// because nothing is known of what they changed.
    pub fn unknown_since(&self, number: u32) -> Option<String> {
        let since = self.unknown.iter();
        let mut since = since.filter(|turn| turn.after > number as usize);
        let last = since.next_back()?;
        let others = match since.count() {
            0 => String::new(),
            count => format!(" and {count} turns before it"),
        };
        let UnseenTask { turn_id, why, .. } = last;
        Some(format!("{turn_id}{others} ran commands later: {why}"))
    }

    /// Returns the last undo, with the turns that it was about.
    pub fn last_undo(&self) -> Result<(&PastUndo, Vec<SubmissionId>), NothingToUndo> {
        let undo = self.undos.last().ok_or(NothingToUndo::NoUndo)?;
        let entries = undo.numbers.iter();
        let entries = entries.filter_map(|number| self.entries.get(*number as usize));
        let turns = entries.map(|entry| entry.turn_id.clone()).collect();
        Ok((undo, turns))
    }
}

/// From what a file must be to what it shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRestore {
    pub path: PathBuf,
    pub from: FileState,
    pub to: FileState,
    /// Between two of the turns somebody else has changed it.
    pub is_broken: bool,
}

/// Joins the changes of turns, newest first, to one way back per file.
pub fn ways<'a>(turns: impl IntoIterator<Item = &'a [ChangedFile]>) -> Vec<FileRestore> {
    let mut ways: BTreeMap<&PathBuf, FileRestore> = BTreeMap::new();
    for file in turns.into_iter().flatten() {
        if let Some(way) = ways.get_mut(&file.path) {
            way.is_broken |= !file.after.is_same(&way.to);
            way.to = file.before.clone();
        } else {
            let way = FileRestore {
                path: file.path.clone(),
                from: file.after.clone(),
                to: file.before.clone(),
                is_broken: false,
            };
            ways.insert(&file.path, way);
        }
    }
    ways.into_values().collect()
}

#[cfg(test)]
mod tests;
