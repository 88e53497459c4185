//! What a plan rests on, so that it can be made again elsewhere and be known as the same.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use nix::sys::stat::fstat;
use serde::{Deserialize, Serialize};

use super::PatchPlan;
use crate::apply::{ApplyError, PatchStep};
use crate::target::TargetStamp;

/// One file as a plan found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSighting {
    path: PathBuf,
    /// Device and inode of the deepest directory on the way that exists.
    directory: (u64, u64),
    /// `None` for a file that does not exist.
    stamp: Option<TargetStamp>,
}

impl FileSighting {
    fn new(step: &PatchStep) -> io::Result<Self> {
        let place = step.place();
        let directory = fstat(&*place.dir)?;
        Ok(Self {
            path: place.path.clone(),
            directory: (directory.st_dev, directory.st_ino),
            stamp: match step {
                PatchStep::Write { replaces, .. } | PatchStep::Link { replaces, .. } => *replaces,
                PatchStep::Remove { stamp, .. } => Some(*stamp),
            },
        })
    }
}

impl PatchPlan {
    /// The files as they are: the same patch does the same wherever this is equal.
    pub fn found(&self) -> io::Result<Vec<FileSighting>> {
        self.steps.iter().map(FileSighting::new).collect()
    }

    /// Refuses to go on from other files than those that somebody has seen.
    pub fn expect(&self, seen: &[FileSighting]) -> Result<(), ApplyError> {
        let changed = |path: String| Err(ApplyError::Changed { path });
        if seen.len() != self.steps.len() {
            return changed("a file of the patch".to_owned());
        }
        for (step, seen) in self.steps.iter().zip(seen) {
            if FileSighting::new(step).ok().as_ref() != Some(seen) {
                return changed(step.place().spelled.clone());
            }
        }
        Ok(())
    }

    /// Where it needs to write, without symbolic links: the directories that exist, and the
    /// topmost of those that it makes.
    pub fn directories(&self) -> io::Result<BTreeSet<PathBuf>> {
        let mut directories = BTreeSet::new();
        for place in self.steps.iter().map(PatchStep::place) {
            let existing = place.real_directory()?;
            directories.extend(place.missing.first().map(|name| existing.join(name)));
            directories.insert(existing);
        }
        Ok(directories)
    }
}
