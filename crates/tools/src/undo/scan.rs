//! What the file system says of many files at once, reached without symbolic links.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, open, openat, openat2, readlinkat};
use nix::sys::stat::{FileStat, Mode, fstat, fstatat};

use super::manifest::FileStamp;
use crate::blocking::WorkDeadline;
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
        stop: &WorkDeadline,
    ) -> io::Result<Vec<Option<FileStamp>>> {
        self.spread(paths, THREAD_FILES_MIN, stop, |walk, path| {
            walk.stamp(path.as_ref())
        })
    }

    /// Does the same work for each item, on a few threads if there are many. The items come
    /// sorted by path.
    pub(super) fn spread<T: Sync, R: Send>(
        &self,
        items: &[T],
        thread_items_min: usize,
        stop: &WorkDeadline,
        work: impl Fn(&mut FileWalk<'_>, &T) -> R + Sync,
    ) -> io::Result<Vec<R>> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (items.len() / thread_items_min).clamp(1, cores.min(UNDO_LOOK_THREADS_MAX));
        let share = items.len().div_ceil(threads).max(1);
        let work = &work;
        let found = std::thread::scope(|scope| {
            let workers: Vec<_> = items
                .chunks(share)
                .map(|items| scope.spawn(move || self.work_through(items, stop, work)))
                .collect();
            let ended = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
            ended.collect::<Result<Vec<_>, _>>()
        });
        let found = found.map_err(|_| io::Error::other("a thread panicked"))?;
        let found: io::Result<Vec<_>> = found.into_iter().collect();
        Ok(found?.into_iter().flatten().collect())
    }

    fn work_through<T, R>(
        &self,
        items: &[T],
        stop: &WorkDeadline,
        work: impl Fn(&mut FileWalk<'_>, &T) -> R,
    ) -> io::Result<Vec<R>> {
        let mut walk = self.walk();
        let mut done = Vec::with_capacity(items.len());
        for (number, item) in items.iter().enumerate() {
            if number.is_multiple_of(256) && stop.is_due() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            done.push(work(&mut walk, item));
        }
        Ok(done)
    }

    pub(super) fn walk(&self) -> FileWalk<'_> {
        FileWalk {
            tree: self,
            parent: Vec::new(),
            directory: None,
        }
    }
}

/// Goes from file to file. It remembers the last directory, so files come sorted.
#[derive(Debug)]
pub(super) struct FileWalk<'a> {
    tree: &'a WorkTree,
    parent: Vec<u8>,
    /// The parent; `None` also if it is no directory, or behind a link.
    directory: Option<OwnedFd>,
}

impl FileWalk<'_> {
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

    /// Returns the stamp of a directory, and of a file in it; `None` if there is no directory.
    pub(super) fn directory(
        &mut self,
        path: &[u8],
        file: &str,
    ) -> Option<(FileStamp, Option<FileStamp>)> {
        let inside = [path, b"/", file.as_bytes()].concat();
        let inside = inside.strip_prefix(b"/").unwrap_or(&inside);
        let (directory, name) = self.enter(inside)?;
        let stamp = FileStamp::of(&fstat(directory).ok()?);
        let file = fstatat(directory, name, AtFlags::AT_SYMLINK_NOFOLLOW).ok();
        Some((stamp, file.as_ref().map(FileStamp::of)))
    }

    /// Lists a directory.
    pub(super) fn names(&self, path: &[u8]) -> io::Result<Vec<DirectoryEntry>> {
        let path = if path.is_empty() { b"." } else { path };
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let mut directory = Dir::from_fd(open_below(&self.tree.top, path, flags)?)?;
        let mut names = Vec::new();
        for entry in directory.iter() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            names.push(DirectoryEntry {
                name: name.to_vec(),
                kind: entry.file_type(),
            });
        }
        Ok(names)
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
            let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
            self.directory = open_below(&self.tree.top, parent, flags).ok();
        }
        self.directory.as_ref().map(|directory| (directory, name))
    }
}

/// One name in a directory.
#[derive(Debug)]
pub(super) struct DirectoryEntry {
    pub name: Vec<u8>,
    /// `None` where the file system does not say it.
    pub kind: Option<Type>,
}

fn open_below(top: &OwnedFd, directory: &[u8], flags: OFlag) -> nix::Result<OwnedFd> {
    let how = OpenHow::new()
        .flags(flags)
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

    pub(super) fn of_metadata(metadata: &Metadata) -> Self {
        let ns = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000) + rest;
        Self {
            mode: metadata.mode(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}
