//! Protected paths that nothing is mounted over, because they do not exist or are symlinks, and for
//! which no placeholder could be put: there are none without namespaces, in temporary directories,
//! and for the settings of projects, which a trusted project's user has to agree to anyway.
//!
//! Calls that would make one are refused. A command that changes a path in memory between our look
//! and the kernel's, or uses a call that nobody reports, gets past that: so the kernel also tells
//! when something has come there, and it is moved aside at once, while the command still runs.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use nix::fcntl::{
    AT_FDCWD, AtFlags, OFlag, OpenHow, RenameFlags, ResolveFlag, open, openat2, readlinkat,
    renameat, renameat2,
};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nix::sys::stat::{FchmodatFlags, Mode, fchmodat, fstatat, stat};
use nix::unistd::{UnlinkatFlags, symlinkat, unlinkat};

use crate::cage::Cage;
use crate::limits::ASIDE_NAMES_MAX;

pub(in crate::holder) struct UnmountedPaths {
    paths: Vec<UnmountedPath>,
    /// None if there is nothing to watch, or the user has no watches left: then the end of the
    /// command is when one looks.
    alarm: Option<Inotify>,
}

impl UnmountedPaths {
    /// To be called before the command starts.
    pub fn find(cage: &Cage) -> Self {
        let paths: Vec<UnmountedPath> = cage
            .protected
            .iter()
            .filter_map(|it| UnmountedPath::find(it))
            .collect();
        let alarm = if paths.is_empty() {
            None
        } else {
            watch(&paths)
        };
        Self { paths, alarm }
    }

    pub fn created_path_fd(&self) -> Option<BorrowedFd<'_>> {
        self.alarm.as_ref().map(AsFd::as_fd)
    }

    /// Says whether a path is one of them or lies in one, with the links on the way resolved.
    pub fn contain(&self, path: &Path) -> bool {
        if self.paths.is_empty() {
            return false;
        }
        let is_loose = |path: &Path| self.paths.iter().any(|it| path.starts_with(&it.path));
        if is_loose(path) {
            return true;
        }
        // Nearly every write has no such name; those that have are looked at.
        let may_be = |it: &UnmountedPath| path.iter().any(|part| part == it.name);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return false;
        };
        self.paths.iter().any(may_be)
            && parent
                .canonicalize()
                .is_ok_and(|it| is_loose(&it.join(name)))
    }

    /// Returns what there was, for people.
    pub fn put_back(&mut self) -> Vec<String> {
        if let Some(alarm) = &self.alarm {
            // What it says is only when to look.
            while alarm.read_events().is_ok_and(|events| !events.is_empty()) {}
        }
        let changed = self.paths.iter().filter(|loose| loose.has_changed());
        changed.map(UnmountedPath::put_back_told).collect()
    }
}

/// Moves what has come under a name where nothing was aside, and tells what it was. The directory
/// is given as it really lies: with a link on the way to it nothing is done.
pub(crate) fn put_aside(directory: &Path, name: &str) -> Option<String> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    let come = UnmountedPath {
        directory: openat2(AT_FDCWD, directory, how).ok()?,
        name: OsString::from(name),
        path: directory.join(name),
        target: None,
    };
    come.has_changed().then(|| come.put_back_told())
}

fn watch(paths: &[UnmountedPath]) -> Option<Inotify> {
    let alarm = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).ok()?;
    let kinds = AddWatchFlags::IN_CREATE
        | AddWatchFlags::IN_MOVED_TO
        | AddWatchFlags::IN_MOVED_FROM
        | AddWatchFlags::IN_DELETE;
    for loose in paths {
        alarm.add_watch(&loose.held(), kinds).ok()?;
    }
    Some(alarm)
}

/// Its directory is held open: a command that could put another in its place could make us rename
/// what is not its own.
struct UnmountedPath {
    path: PathBuf,
    directory: OwnedFd,
    name: OsString,
    /// Where the symlink leads, if it is one.
    target: Option<OsString>,
}

impl UnmountedPath {
    /// None if the path can be mounted over, or could not come to exist.
    fn find(path: &Path) -> Option<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut loose = Self {
            directory: open(path.parent()?, flags, Mode::empty()).ok()?,
            name: path.file_name()?.to_owned(),
            path: path.to_path_buf(),
            target: None,
        };
        loose.target = loose.link();
        let is_loose = loose.target.is_some() || !loose.exists(&loose.name);
        is_loose.then_some(loose)
    }

    fn has_changed(&self) -> bool {
        match &self.target {
            Some(target) => self.link().as_ref() != Some(target),
            None => self.exists(&self.name),
        }
    }

    /// The directory by a path that leads to it whatever its name is now.
    fn held(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.directory.as_raw_fd()))
    }

    /// Puts it back and says so, for people.
    fn put_back_told(&self) -> String {
        let path = self.path.display();
        match self.put_back() {
            Ok(()) => format!("creation of {path} (moved aside)"),
            Err(error) => {
                format!("creation of {path} (cannot be moved aside: {error}; remove it)")
            }
        }
    }

    /// Renames what is there now to a free name beside it, and makes the symlink again.
    fn put_back(&self) -> nix::Result<()> {
        if self.exists(&self.name) {
            match self.move_aside() {
                Err(nix::Error::EACCES) => {
                    self.allow_owner()?;
                    self.move_aside()?;
                }
                moved => moved?,
            }
        }
        match &self.target {
            Some(target) => symlinkat(target.as_os_str(), &self.directory, self.name.as_os_str()),
            None => Ok(()),
        }
    }

    /// Gives the owner back the rights to the directory that a command can have taken away.
    fn allow_owner(&self) -> nix::Result<()> {
        let held = self.held();
        let has = Mode::from_bits_truncate(stat(&held)?.st_mode);
        fchmodat(
            AT_FDCWD,
            &held,
            has | Mode::S_IRWXU,
            FchmodatFlags::FollowSymlink,
        )
    }

    /// Names with the time in them cannot all be taken before.
    fn move_aside(&self) -> nix::Result<()> {
        let name = self.name.as_os_str();
        let now = || SystemTime::now().duration_since(UNIX_EPOCH);
        for number in 1..=ASIDE_NAMES_MAX {
            let aside = if number == 1 {
                format!("{}.refused-1", name.display())
            } else {
                let nanos = now().map_or(0, |since| since.as_nanos());
                format!("{}.refused-{number}-{nanos}", name.display())
            };
            match self.rename_to(&aside) {
                Err(nix::Error::EEXIST) => {}
                Ok(()) => {
                    // Nothing is lost with an empty directory. What holds something stays: it may
                    // be the user's, who made it meanwhile.
                    let empty = UnlinkatFlags::RemoveDir;
                    let _ = unlinkat(&self.directory, aside.as_str(), empty);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        Err(nix::Error::EEXIST)
    }

    /// Renames what is there now, and replaces nothing.
    fn rename_to(&self, aside: &str) -> nix::Result<()> {
        let (directory, name) = (&self.directory, self.name.as_os_str());
        match renameat2(
            directory,
            name,
            directory,
            aside,
            RenameFlags::RENAME_NOREPLACE,
        ) {
            // The file system does not know the flag, so that a name which is free now must do.
            Err(nix::Error::EINVAL) if self.exists(OsStr::new(aside)) => Err(nix::Error::EEXIST),
            Err(nix::Error::EINVAL) => renameat(directory, name, directory, aside),
            moved => moved,
        }
    }

    fn link(&self) -> Option<OsString> {
        readlinkat(&self.directory, self.name.as_os_str()).ok()
    }

    fn exists(&self, name: &OsStr) -> bool {
        fstatat(&self.directory, name, AtFlags::AT_SYMLINK_NOFOLLOW).is_ok()
    }
}
