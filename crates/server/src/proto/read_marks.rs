//! Which results somebody has read: marks of a home, so that they hold for later sessions and for
//! every client.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use troupe_protocol::{SessionId, SubmissionId};

use super::home_lines::HomeLines;
use crate::limits::READ_MARKS_BYTES_MAX;

/// One task of one agent's session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct ReadMark {
    pub session: SessionId,
    pub task: SubmissionId,
}

/// The file that they are kept in.
#[derive(Debug, Clone)]
pub struct ReadMarks {
    lines: HomeLines,
}

impl ReadMarks {
    pub fn new(path: PathBuf) -> Self {
        let lines = HomeLines::new(path, READ_MARKS_BYTES_MAX);
        Self { lines }
    }

    pub(super) fn all(&self) -> io::Result<HashSet<ReadMark>> {
        let marks: Vec<ReadMark> = self.lines.newest(usize::MAX)?;
        Ok(marks.into_iter().collect())
    }

    pub(super) fn add(&self, mark: &ReadMark) -> io::Result<()> {
        if self.all()?.contains(mark) {
            return Ok(());
        }
        self.lines.add(mark)
    }
}
