//! Tells whether what was read before is still so, by a look at each file and directory.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::limits::FILE_CLOCK_MS;

/// The state of everything that a scan looked at.
#[derive(Debug)]
pub(super) struct ScanFingerprint {
    seen: Vec<(PathBuf, Option<SkillFileStamp>)>,
    /// A change in the same tick of the file system's clock as the scan would leave no trace.
    settled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SkillFileStamp {
    device: u64,
    inode: u64,
    size: u64,
    /// Unlike the time of modification, nobody can set it.
    changed: (i64, i64),
}

impl ScanFingerprint {
    pub fn new() -> Self {
        Self {
            seen: Vec::new(),
            settled: true,
        }
    }

    /// Notes the state of a path. It must be noted before it is read.
    pub fn note(&mut self, path: &Path) {
        let state = SkillFileStamp::of(path);
        if let Some(state) = state {
            self.settled &= state.is_settled();
        }
        self.seen.push((path.to_owned(), state));
    }

    pub fn is_current(&self) -> bool {
        let is_same =
            |(path, state): &(PathBuf, Option<SkillFileStamp>)| SkillFileStamp::of(path) == *state;
        self.settled && self.seen.iter().all(is_same)
    }
}

impl SkillFileStamp {
    fn of(path: &Path) -> Option<Self> {
        path.metadata().ok().map(|metadata| Self::from(&metadata))
    }

    fn is_settled(self) -> bool {
        let (seconds, nanos) = self.changed;
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(seconds), u32::try_from(nanos)) else {
            return true;
        };
        let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
        // A time to come is that of a clock that was put back.
        changed
            .elapsed()
            .is_ok_and(|age| age > Duration::from_millis(FILE_CLOCK_MS))
    }
}

impl From<&Metadata> for SkillFileStamp {
    fn from(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}
