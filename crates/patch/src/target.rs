//! Where a patch may write: paths resolved by the kernel beneath the allowed roots.
//!
//! A [`PatchTarget`] is an open directory and a name in it. Everything later happens relative to
//! that directory, so what is swapped on the way to it afterwards does not matter.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, openat, openat2, readlinkat};
use nix::libc;
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use serde::{Deserialize, Serialize};
use troupe_process::has_named_part;

use crate::limits::{FILE_BYTES_MAX, RESOLVE_ATTEMPTS_MAX};
use crate::plan::PlanError;

/// Which files a patch may touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatchRoots {
    /// Files below `writable`, but not below `protected`, nor in anything below a root that bears
    /// one of the names.
    Within {
        writable: Vec<PathBuf>,
        protected: Vec<PathBuf>,
        protected_names: Vec<String>,
    },
    Unrestricted,
}

/// A file, existing or not, by its open directory.
#[derive(Debug)]
pub struct PatchTarget {
    /// The deepest directory on the way that exists.
    pub dir: Arc<OwnedFd>,
    /// Directories below it that are to be made.
    pub missing: Vec<OsString>,
    pub name: OsString,
    pub path: PathBuf,
    /// As the patch spells it.
    pub spelled: String,
}

/// What tells one file, and one state of it, from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetStamp {
    device: libc::dev_t,
    inode: libc::ino_t,
    size: libc::off_t,
    modified: (libc::time_t, i64),
}

/// What a rewritten file takes over from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileAttributes {
    pub mode: Mode,
    pub user: u32,
    pub group: u32,
}

#[derive(Debug)]
pub enum TargetEntry {
    Absent,
    File {
        stamp: TargetStamp,
        attributes: FileAttributes,
    },
    Symlink {
        stamp: TargetStamp,
        target: PathBuf,
    },
    Directory,
    /// A device, socket or pipe.
    Special,
}

/// Resolves the paths of one patch.
#[derive(Debug)]
pub struct TargetResolver {
    cwd: PathBuf,
    roots: Vec<ResolverRoot>,
    resolve: ResolveFlag,
    protected: Vec<PathBuf>,
    protected_names: Vec<String>,
}

#[derive(Debug)]
struct ResolverRoot {
    dir: OwnedFd,
    /// As given, and with symbolic links resolved: both lead here.
    spellings: [PathBuf; 2],
}

impl TargetResolver {
    pub fn new(cwd: &Path, roots: &PatchRoots) -> Result<Self, PlanError> {
        let (writable, protected, protected_names, resolve) = match roots {
            PatchRoots::Within {
                writable,
                protected,
                protected_names,
            } => (
                writable.clone(),
                protected,
                protected_names.clone(),
                ResolveFlag::RESOLVE_BENEATH,
            ),
            PatchRoots::Unrestricted => (
                vec![PathBuf::from("/")],
                &Vec::new(),
                Vec::new(),
                ResolveFlag::empty(),
            ),
        };
        let mut opened = Vec::with_capacity(writable.len());
        for root in writable {
            // A root that does not exist contains no file that could be written.
            match ResolverRoot::open(&root) {
                Ok(root) => opened.push(root),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(PlanError::io("open", &root.to_string_lossy(), error)),
            }
        }
        let protected = protected
            .iter()
            .flat_map(|path| [Some(plain(path)), path.canonicalize().ok()])
            .flatten()
            .collect();
        Ok(Self {
            cwd: cwd.to_owned(),
            roots: opened,
            resolve: resolve | ResolveFlag::RESOLVE_NO_MAGICLINKS,
            protected,
            protected_names,
        })
    }

    /// For files below one directory that are reached without any symbolic link.
    pub fn without_links(root: &Path) -> Result<Self, PlanError> {
        let roots = PatchRoots::Within {
            writable: vec![root.to_owned()],
            protected: Vec::new(),
            protected_names: Vec::new(),
        };
        let mut resolver = Self::new(root, &roots)?;
        resolver.resolve |= ResolveFlag::RESOLVE_NO_SYMLINKS;
        Ok(resolver)
    }

    pub fn resolve(&self, spelled: &str) -> Result<PatchTarget, PlanError> {
        self.resolve_path(Path::new(spelled), spelled)
    }

    /// The same for a name that need not be text; `spelled` is for people.
    pub fn resolve_path(&self, path: &Path, spelled: &str) -> Result<PatchTarget, PlanError> {
        let path = plain(&self.cwd.join(path));
        let Some(name) = path.file_name().filter(|_| !spelled.ends_with('/')) else {
            return Err(PlanError::Directory {
                path: spelled.to_owned(),
            });
        };
        let mut outside = PlanError::Outside { path: path.clone() };
        for root in &self.roots {
            let Some(parent) = root.below(&path).and_then(Path::parent) else {
                continue;
            };
            let (dir, missing) = match self.open_parent(root, parent, spelled) {
                Err(error @ PlanError::LeadsOutside { .. }) => {
                    outside = error;
                    continue;
                }
                opened => opened?,
            };
            let place = PatchTarget {
                dir: Arc::new(dir),
                missing,
                name: name.to_owned(),
                path: path.clone(),
                spelled: spelled.to_owned(),
            };
            self.check_protected(&place)?;
            return Ok(place);
        }
        Err(outside)
    }

    /// Opens the deepest existing directory on the way to `parent` and lists the rest.
    fn open_parent(
        &self,
        root: &ResolverRoot,
        parent: &Path,
        spelled: &str,
    ) -> Result<(OwnedFd, Vec<OsString>), PlanError> {
        let components: Vec<_> = parent.iter().collect();
        let mut existing = components.len();
        let dir = loop {
            let path: PathBuf = [
                Path::new("."),
                &components[..existing].iter().collect::<PathBuf>(),
            ]
            .iter()
            .collect();
            match self.open_dir(root, &path) {
                Ok(dir) => break dir,
                Err(Errno::ENOENT) if existing > 0 => existing -= 1,
                Err(Errno::EXDEV) => {
                    let path = spelled.to_owned();
                    return Err(PlanError::LeadsOutside { path });
                }
                Err(Errno::ELOOP) if self.resolve.contains(ResolveFlag::RESOLVE_NO_SYMLINKS) => {
                    return Err(PlanError::Symlink {
                        path: spelled.to_owned(),
                        target: PathBuf::from("elsewhere"),
                    });
                }
                Err(Errno::ENOTDIR) => {
                    let path = spelled.to_owned();
                    return Err(PlanError::ParentNotDirectory { path });
                }
                Err(errno) => {
                    return Err(PlanError::io(
                        "open the directory of",
                        spelled,
                        errno.into(),
                    ));
                }
            }
        };
        let missing: Vec<OsString> = components[existing..].iter().map(OsString::from).collect();
        // What cannot be opened and yet is there is a symbolic link to nowhere.
        if let Some(first) = missing.first()
            && let Ok(target) = readlinkat(&dir, first.as_os_str())
        {
            return Err(PlanError::Symlink {
                path: spelled.to_owned(),
                target: PathBuf::from(target),
            });
        }
        Ok((dir, missing))
    }

    fn open_dir(&self, root: &ResolverRoot, path: &Path) -> nix::Result<OwnedFd> {
        let how = OpenHow::new()
            .flags(OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
            .resolve(self.resolve);
        let mut attempts = 0;
        loop {
            // The kernel asks for another try when a rename elsewhere made `..` uncertain.
            match openat2(&root.dir, path, how) {
                Err(Errno::EAGAIN | Errno::EINTR) if attempts < RESOLVE_ATTEMPTS_MAX => {
                    attempts += 1;
                }
                opened => return opened,
            }
        }
    }

    fn check_protected(&self, place: &PatchTarget) -> Result<(), PlanError> {
        if self.protected.is_empty() && self.protected_names.is_empty() {
            return Ok(());
        }
        let real = place
            .real_path()
            .map_err(|error| PlanError::io("find the directory of", &place.spelled, error))?;
        let shields = |path: &&PathBuf| real.starts_with(path) || place.path.starts_with(path);
        let is_named = |path: &Path| has_named_part(path, &self.spellings(), &self.protected_names);
        if self.protected.iter().any(|path| shields(&path))
            || is_named(&real)
            || is_named(&place.path)
        {
            return Err(PlanError::Protected {
                path: place.path.clone(),
            });
        }
        Ok(())
    }

    fn spellings(&self) -> Vec<PathBuf> {
        let roots = self.roots.iter();
        roots.flat_map(|root| root.spellings.clone()).collect()
    }
}

impl ResolverRoot {
    fn open(root: &Path) -> io::Result<Self> {
        let dir = nix::fcntl::open(
            root,
            OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC,
            Mode::empty(),
        )?;
        Ok(Self {
            dir,
            spellings: [plain(root), root.canonicalize()?],
        })
    }

    fn below<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        self.spellings
            .iter()
            .find_map(|root| path.strip_prefix(root).ok())
            .filter(|rest| !rest.as_os_str().is_empty())
    }
}

impl PatchTarget {
    /// What is there now, without following a symbolic link.
    pub fn look(&self) -> io::Result<TargetEntry> {
        if !self.missing.is_empty() {
            return Ok(TargetEntry::Absent);
        }
        let name = self.name.as_os_str();
        let stat = match fstatat(&*self.dir, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Err(Errno::ENOENT) => return Ok(TargetEntry::Absent),
            stat => stat?,
        };
        Ok(match kind(&stat) {
            SFlag::S_IFREG => TargetEntry::File {
                stamp: TargetStamp::new(&stat),
                attributes: FileAttributes::new(&stat),
            },
            SFlag::S_IFLNK => TargetEntry::Symlink {
                stamp: TargetStamp::new(&stat),
                target: PathBuf::from(readlinkat(&*self.dir, name)?),
            },
            SFlag::S_IFDIR => TargetEntry::Directory,
            _ => TargetEntry::Special,
        })
    }

    /// The content of a regular file.
    pub fn read(&self) -> Result<Vec<u8>, PlanError> {
        let failed = |error: io::Error| PlanError::io("read", &self.spelled, error);
        // Non-blocking, because a pipe may have taken the place of the file just now.
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let file = openat(&*self.dir, self.name.as_os_str(), flags, Mode::empty())
            .map_err(|errno| failed(errno.into()))?;
        let stat = fstat(&file).map_err(|errno| failed(errno.into()))?;
        if kind(&stat) != SFlag::S_IFREG {
            return Err(PlanError::Special {
                path: self.spelled.clone(),
            });
        }
        let mut content = Vec::with_capacity(usize::try_from(stat.st_size).unwrap_or_default());
        let mut bounded = File::from(file).take(FILE_BYTES_MAX + 1);
        bounded.read_to_end(&mut content).map_err(failed)?;
        if content.len() as u64 > FILE_BYTES_MAX {
            return Err(PlanError::TooLarge {
                path: self.spelled.clone(),
            });
        }
        Ok(content)
    }

    /// Removes the directory that stands here, if there is nothing but directories in it.
    pub fn remove_empty_directories(&self) -> io::Result<()> {
        remove_empty(&self.dir, &self.name)
    }

    /// Makes a directory here, and those on the way to it that were missing.
    pub fn make_directory(&self) -> io::Result<()> {
        let mode = Mode::from_bits_truncate(0o777);
        let mut below: Option<OwnedFd> = None;
        for name in &self.missing {
            let above = below.as_ref().unwrap_or(&self.dir);
            match mkdirat(above, name.as_os_str(), mode) {
                Ok(()) | Err(Errno::EEXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            below = Some(openat(above, name.as_os_str(), flags, Mode::empty())?);
        }
        let directory = below.as_ref().unwrap_or(&self.dir);
        Ok(mkdirat(directory, self.name.as_os_str(), mode)?)
    }

    /// Removes the directory that stands here, if there is nothing in it.
    pub fn remove_directory(&self) -> io::Result<()> {
        if !self.missing.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(unlinkat(
            &*self.dir,
            self.name.as_os_str(),
            UnlinkatFlags::RemoveDir,
        )?)
    }

    /// Whether both name the same file, however they are spelled.
    pub fn is(&self, other: &Self) -> io::Result<bool> {
        if (&self.name, &self.missing) != (&other.name, &other.missing) {
            return Ok(false);
        }
        let (own, others) = (fstat(&*self.dir)?, fstat(&*other.dir)?);
        Ok((own.st_dev, own.st_ino) == (others.st_dev, others.st_ino))
    }

    /// Where the open directory lies, without symbolic links.
    pub fn real_directory(&self) -> io::Result<PathBuf> {
        std::fs::read_link(format!("/proc/self/fd/{}", self.dir.as_raw_fd()))
    }

    /// The path that leads here without symbolic links.
    fn real_path(&self) -> io::Result<PathBuf> {
        let mut path = self.real_directory()?;
        path.extend(&self.missing);
        path.push(&self.name);
        Ok(path)
    }
}

impl TargetStamp {
    fn new(stat: &FileStat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
        }
    }
}

impl FileAttributes {
    fn new(stat: &FileStat) -> Self {
        Self {
            mode: Mode::from_bits_truncate(stat.st_mode),
            user: stat.st_uid,
            group: stat.st_gid,
        }
    }
}

fn kind(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode) & SFlag::S_IFMT
}

fn remove_empty(dir: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let inner = openat(dir, name, flags, Mode::empty())?;
    let entries = std::fs::read_dir(format!("/proc/self/fd/{}", inner.as_raw_fd()))?;
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_empty(&inner, &entry.file_name())?;
        }
    }
    Ok(unlinkat(dir, name, UnlinkatFlags::RemoveDir)?)
}

/// The path without `.` and `..`, by its letters alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
