//! Repositories that a command would make in directories of a repository that were there before
//! it: `git status` in such a directory would obey them.
//!
//! No name is held there, because there may be thousands of directories: a call that would make
//! one is refused by its answer. A directory that came later is the agent's, which may clone
//! and make repositories of its own.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use crate::cage::{Cage, CageOccupant};
use crate::limits::LINKS_FOLLOWED_MAX;
use crate::placeholder::holds_repository;
use crate::roots::PROTECTED_NAMES;

/// When the policy was set up. Every keeper is a fork of the process that sets this.
static SINCE: OnceLock<SystemTime> = OnceLock::new();

/// Notes that what is made from now on is the agent's.
pub(in crate::holder) fn begin() {
    since();
}

/// By the clock that directories get the time of their birth from, which is never ahead of it.
fn since() -> SystemTime {
    *SINCE.get_or_init(|| {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the call fills the struct that it is given.
        let result = unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &raw mut now) };
        let parts = (u64::try_from(now.tv_sec), u32::try_from(now.tv_nsec));
        match (result, parts) {
            (0, (Ok(seconds), Ok(nanos))) => SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos),
            _ => SystemTime::now(),
        }
    })
}

/// The directories of a policy that were there when it was set up.
pub(super) struct OldDirectories {
    workspaces: Vec<PathBuf>,
    since: SystemTime,
}

impl OldDirectories {
    /// A worker is asked for by name before it makes one.
    pub fn of(cage: &Cage, inmate: CageOccupant) -> Self {
        Self {
            workspaces: match inmate {
                CageOccupant::Command => cage.workspaces.clone(),
                CageOccupant::Worker => Vec::new(),
            },
            since: since(),
        }
    }

    /// Tells whether a call that may make this path would make a repository in one of them. The
    /// path may be a link to where it is made.
    pub fn would_gain(&self, path: &Path) -> bool {
        let mut path = path.to_path_buf();
        for _ in 0..LINKS_FOLLOWED_MAX {
            let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
                return false;
            };
            if PROTECTED_NAMES.iter().any(|it| name == *it) {
                return self.are_around(directory) && path.symlink_metadata().is_err();
            }
            match path.read_link() {
                Ok(target) => path = directory.join(target),
                Err(_) => return false,
            }
        }
        true
    }

    fn are_around(&self, directory: &Path) -> bool {
        // Its links mean another process for whoever is asked here.
        if !self.workspaces.is_empty() && directory.starts_with("/proc") {
            return true;
        }
        let Ok(directory) = directory.canonicalize() else {
            return false;
        };
        let is_in_workspace = self.workspaces.iter().any(|it| directory.starts_with(it));
        let born = || directory.metadata().and_then(|found| found.created());
        is_in_workspace
            && born().is_ok_and(|born| born <= self.since)
            && directory.ancestors().any(holds_repository)
    }
}
