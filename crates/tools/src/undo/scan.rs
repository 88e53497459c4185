//! What the file system says of many files at once, reached without symbolic links.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, open, openat, openat2, readlinkat};
use nix::sys::stat::{FileStat, Mode, fstat, fstatat};

use super::manifest::FileStamp;
use crate::blocking::Stop;
use crate::limits::{UNDO_FILE_BYTES_MAX, UNDO_LOOK_THREADS_MAX};

/// Files that one thread asks for, at least.
const THREAD_FILES_MIN: usize = 4_000;

/// The top of a work tree, held open.
#[derive(Debug)]
pub(super) struct WorkTree {
    top: OwnedFd,
}

impl WorkTree {
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let top = open(root, flags, Mode::empty())?;
        Ok(Self { top })
    }

    /// Returns the stamp of each file that is there. Stops when it has to, with an error.
    pub(super) fn stamps<P: AsRef<[u8]> + Sync>(
        &self,
        paths: &[P],
        stop: &Stop,
    ) -> io::Result<Vec<Option<FileStamp>>> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (paths.len() / THREAD_FILES_MIN).clamp(1, cores.min(UNDO_LOOK_THREADS_MAX));
        let share = paths.len().div_ceil(threads).max(1);
        let found = std::thread::scope(|scope| {
            let workers: Vec<_> = paths
                .chunks(share)
                .map(|paths| scope.spawn(move || self.stamps_of(paths, stop)))
                .collect();
            let ended = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
            ended.collect::<Result<Vec<_>, _>>()
        });
        let found = found.map_err(|_| io::Error::other("a thread panicked"))?;
        let found: io::Result<Vec<_>> = found.into_iter().collect();
        Ok(found?.into_iter().flatten().collect())
    }

    fn stamps_of<P: AsRef<[u8]>>(
        &self,
        paths: &[P],
        stop: &Stop,
    ) -> io::Result<Vec<Option<FileStamp>>> {
        let mut walk = self.walk();
        let mut stamps = Vec::with_capacity(paths.len());
        for (number, path) in paths.iter().enumerate() {
            if number.is_multiple_of(1_024) && stop.is_due() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            stamps.push(walk.stamp(path.as_ref()));
        }
        Ok(stamps)
    }

    pub(super) fn walk(&self) -> Walk<'_> {
        Walk {
            tree: self,
            parent: Vec::new(),
            directory: None,
        }
    }
}

/// Goes from file to file. It remembers the last directory, so files come sorted.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    tree: &'a WorkTree,
    parent: Vec<u8>,
    /// The parent; `None` also if it is no directory, or behind a link.
    directory: Option<OwnedFd>,
}

impl Walk<'_> {
    /// `None` if there is nothing, or no way to it.
    pub(super) fn stamp(&mut self, path: &[u8]) -> Option<FileStamp> {
        let (directory, name) = self.enter(path)?;
        let stat = fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
        Some(FileStamp::of(&stat))
    }

    pub(super) fn link(&mut self, path: &[u8]) -> io::Result<OsString> {
        let (directory, name) = self.enter(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(readlinkat(directory, name)?)
    }

    /// Reads a regular file that is not too large, with the stamp that it has while it is open.
    pub(super) fn read(&mut self, path: &[u8]) -> io::Result<(FileStamp, Vec<u8>)> {
        let (directory, name) = self.enter(path).ok_or(io::ErrorKind::NotFound)?;
        // A pipe that has taken the file's place must not keep anybody waiting.
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let opened = openat(directory, name, flags, Mode::empty())?;
        let stamp = FileStamp::of(&fstat(&opened)?);
        if !stamp.is_regular() || stamp.size > UNDO_FILE_BYTES_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut content = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or_default());
        let mut file = std::fs::File::from(opened).take(UNDO_FILE_BYTES_MAX + 1);
        file.read_to_end(&mut content)?;
        if content.len() as u64 > UNDO_FILE_BYTES_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok((stamp, content))
    }

    /// Opens the directory of a file.
    fn enter<'p>(&mut self, path: &'p [u8]) -> Option<(&OwnedFd, &'p OsStr)> {
        let slash = memchr::memrchr(b'/', path);
        let (parent, name) = match slash {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&[][..], path),
        };
        let name = OsStr::from_bytes(name);
        if parent.is_empty() {
            return Some((&self.tree.top, name));
        }
        if self.parent != parent {
            self.parent = parent.to_vec();
            self.directory = open_below(&self.tree.top, parent).ok();
        }
        self.directory.as_ref().map(|directory| (directory, name))
    }
}

fn open_below(top: &OwnedFd, directory: &[u8]) -> nix::Result<OwnedFd> {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    loop {
        match openat2(top, OsStr::from_bytes(directory), how) {
            // A signal, or a rename elsewhere that made the way uncertain.
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            opened => return opened,
        }
    }
}

impl FileStamp {
    fn of(stat: &FileStat) -> Self {
        let ns = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000) + rest;
        Self {
            mode: stat.st_mode,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            modified_ns: ns(stat.st_mtime, stat.st_mtime_nsec),
            changed_ns: ns(stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}
