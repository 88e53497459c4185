//! What the patches of a turn come to so far, as one diff.
//!
//! Before a patch is applied, files that are new to the turn are remembered as they are; after
//! it, all of them are compared with what they are now. The diff is in git's format, so that
//! other tools can read it.
//!
//! Deliberately absent: what commands change, which nobody knows before they have changed it,
//! and moves, which are a file that goes and one that comes.

mod format;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use troupe_protocol::SubmissionId;
use troupe_protocol::undo::FileState;

use crate::blocking;
use crate::digest::FileDigest;
use crate::limits::{
    TURN_DIFF_BYTES_MAX, TURN_DIFF_FILES_MAX, TURN_DIFF_KEPT_BYTES_MAX, TURN_DIFF_TIME_MAX,
};
use crate::undo;

/// Remembers the files of the turn that runs.
#[derive(Debug, Default)]
pub(crate) struct TurnDiff {
    turn: Mutex<Option<DiffBaseline>>,
}

#[derive(Debug)]
struct DiffBaseline {
    id: SubmissionId,
    originals: Vec<BaselineFile>,
    /// Files for which there was no room.
    left_out: usize,
}

/// A file as the turn found it.
#[derive(Debug, Clone)]
struct BaselineFile {
    path: PathBuf,
    side: DiffSide,
}

/// A file at one moment.
#[derive(Debug, Clone)]
struct DiffSide {
    state: FileState,
    /// Absent of one that is not text, or too large.
    text: Option<Arc<str>>,
}

impl TurnDiff {
    /// Takes files that a patch is about to touch.
    pub(crate) async fn remember(&self, turn: &SubmissionId, files: &[FileDigest]) {
        let new: Vec<PathBuf> = {
            let mut current = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let current = current_turn(&mut current, turn);
            let paths = files.iter().map(|file| &file.path);
            paths.filter(|path| !current.knows(path)).cloned().collect()
        };
        if new.is_empty() {
            return;
        }
        let look = move || new.into_iter().map(BaselineFile::look).collect();
        // It fails only while the engine shuts down.
        let found: Vec<BaselineFile> = blocking::finish(look).await.unwrap_or_default();
        let mut current = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        current_turn(&mut current, turn).take(found);
    }

    /// Compares the files of the turn with what they are now. Paths are shown from `cwd`.
    pub(crate) async fn now(&self, turn: &SubmissionId, cwd: &Path) -> Option<String> {
        let (originals, left_out) = {
            let current = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let current = current.as_ref().filter(|current| current.id == *turn)?;
            (current.originals.clone(), current.left_out)
        };
        let cwd = cwd.to_owned();
        let compare = move || compare(originals, left_out, &cwd);
        blocking::finish(compare).await.ok()
    }

    /// Forgets what the turn found.
    pub(crate) fn forget(&self) {
        *self.turn.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Returns what is remembered of this turn; nothing of an earlier one.
fn current_turn<'a>(
    current: &'a mut Option<DiffBaseline>,
    id: &SubmissionId,
) -> &'a mut DiffBaseline {
    let earlier = current.take().filter(|turn| turn.id == *id);
    current.insert(earlier.unwrap_or_else(|| DiffBaseline {
        id: id.clone(),
        originals: Vec::new(),
        left_out: 0,
    }))
}

impl DiffBaseline {
    fn knows(&self, path: &Path) -> bool {
        self.originals.iter().any(|it| it.path == path)
    }

    fn take(&mut self, found: Vec<BaselineFile>) {
        let kept = self.originals.iter().map(BaselineFile::kept_bytes);
        let mut room = TURN_DIFF_KEPT_BYTES_MAX.saturating_sub(kept.sum());
        for mut original in found {
            if self.knows(&original.path) {
                continue;
            }
            if self.originals.len() >= TURN_DIFF_FILES_MAX {
                self.left_out += 1;
                continue;
            }
            if original.kept_bytes() > room {
                original.side.text = None;
            }
            room -= original.kept_bytes();
            self.originals.push(original);
        }
        self.originals.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

impl BaselineFile {
    /// Blocks on the file system.
    fn look(path: PathBuf) -> Self {
        Self {
            side: DiffSide::look(&path),
            path,
        }
    }

    fn kept_bytes(&self) -> usize {
        self.side.text.as_ref().map_or(0, |text| text.len())
    }
}

impl DiffSide {
    fn look(path: &Path) -> Self {
        let (state, content) = undo::read_state(path);
        let content = content.filter(|content| content.len() <= TURN_DIFF_KEPT_BYTES_MAX);
        let text = content.and_then(|content| String::from_utf8(content).ok());
        Self {
            state,
            text: text.map(Into::into),
        }
    }
}

/// Blocks on the file system.
fn compare(originals: Vec<BaselineFile>, mut left_out: usize, cwd: &Path) -> String {
    let deadline = Instant::now() + TURN_DIFF_TIME_MAX;
    let mut diff = String::new();
    for BaselineFile { path, side: before } in originals {
        let after = DiffSide::look(&path);
        if before.state.is_same(&after.state) {
            continue;
        }
        let file = format::file(path.strip_prefix(cwd).unwrap_or(&path), &before, &after);
        if diff.len() + file.len() > TURN_DIFF_BYTES_MAX || Instant::now() > deadline {
            left_out += 1;
        } else {
            diff.push_str(&file);
        }
    }
    if left_out > 0 {
        diff.push_str(&format::left_out(left_out));
    }
    diff
}
