//! The file system as the commands of one policy see it.
//!
//! Everything is read-only. On top of that, from the outside in, the writable roots are mounted
//! over themselves as they were, what is protected inside them, read-only again, and an empty
//! directory over what is hidden, in which what is shown of it is mounted again.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::cage::Cage;
use crate::limits::MOUNT_ATTEMPTS_MAX;
use crate::placeholder::is_placeholder;

/// Takes the calling process's mount namespace, which must be new, into the state of the cage.
pub(super) fn confine(cage: &Cage) -> io::Result<()> {
    mount_plain(
        None,
        Path::new("/"),
        MsFlags::MS_REC | MsFlags::MS_PRIVATE,
        None,
    )?;
    let layers = MountLayer::of(cage)?;
    if !cage.writable.iter().any(|root| is_everything(root)) {
        MountTree::at(Path::new("/"))
            .restrict(libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID)?;
    }
    private_devices()?;
    layers.into_iter().try_for_each(MountLayer::put)
}

/// Covers a path with nothing, whatever it is.
pub(super) fn cover(path: &Path) -> io::Result<()> {
    MountTree::copy(Path::new("/dev/null"))?.attach(path)
}

enum MountLayer {
    Protected(PathBuf),
    /// On the way from a root to what is hidden or protected: a mount cannot be renamed, so nothing
    /// else can be put in its place.
    Pinned(PathBuf),
    /// With the writable roots and what is shown inside it.
    Hidden(PathBuf, Vec<PathBuf>),
    /// With a copy that was made before it was hidden.
    Shown(PathBuf, MountTree),
    /// With a copy that was made while the root was still as the host has it.
    Writable(PathBuf, MountTree),
}

impl MountLayer {
    /// The layers of what exists and is no symlink, outer ones first. A root that is also protected
    /// or hidden was asked for, and comes on top.
    fn of(cage: &Cage) -> io::Result<Vec<Self>> {
        let mut layers = Vec::new();
        let protected = || cage.protected.iter().chain(&cage.nested);
        let is_real =
            |path: &&PathBuf| path.exists() && !path.is_symlink() && !is_placeholder(path);
        for path in protected().filter(is_real) {
            layers.push(Self::Protected(path.clone()));
        }
        let mut pinned = BTreeSet::new();
        for path in protected().chain(&cage.hidden) {
            let around = path.ancestors().skip(1);
            pinned.extend(around.filter(|path| is_inside(path, cage)));
        }
        let pinned = pinned.into_iter().map(Path::to_path_buf);
        layers.extend(pinned.map(Self::Pinned));
        for hidden in &cage.hidden {
            let inside = |root: &&PathBuf| root.starts_with(hidden);
            let inside = cage.writable.iter().chain(&cage.shown).filter(inside);
            layers.push(Self::Hidden(hidden.clone(), inside.cloned().collect()));
        }
        // Who works in a hidden directory itself may write what is shown of it.
        let is_hidden = |root: &PathBuf| cage.hidden.iter().any(|it| root.starts_with(it));
        let is_written = |path: &PathBuf| {
            let mut roots = cage.writable.iter();
            roots.any(|root| path.starts_with(root) && is_hidden(root))
        };
        let shown = cage.shown.iter();
        for path in shown.filter(|path| path.exists() && !is_written(path)) {
            let tree = MountTree::copy(path)?;
            tree.restrict(
                libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
            )?;
            layers.push(Self::Shown(path.clone(), tree));
        }
        for root in cage.writable.iter().filter(|root| root.exists()) {
            if !is_everything(root) {
                let tree = MountTree::copy(root)?;
                tree.restrict(libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV)?;
                layers.push(Self::Writable(root.clone(), tree));
            }
        }
        // Stable: of several layers for one path, the writable one stays last.
        layers.sort_by(|a, b| a.path().cmp(b.path()));
        Ok(layers)
    }

    fn path(&self) -> &Path {
        match self {
            Self::Protected(path)
            | Self::Pinned(path)
            | Self::Hidden(path, _)
            | Self::Shown(path, _)
            | Self::Writable(path, _) => path,
        }
    }

    fn put(self) -> io::Result<()> {
        match self {
            // An outer layer has hidden it already.
            Self::Protected(path) | Self::Pinned(path) | Self::Hidden(path, _)
                if matches!(path.try_exists(), Ok(false)) =>
            {
                Ok(())
            }
            Self::Protected(path) => unless_gone(|| protect(&path)),
            Self::Pinned(path) => unless_gone(|| pin(&path)),
            Self::Hidden(path, inside) => hide(&path, &inside),
            Self::Shown(path, tree) | Self::Writable(path, tree) => tree.attach(&path),
        }
    }
}

fn protect(path: &Path) -> io::Result<()> {
    let tree = MountTree::copy(path)?;
    tree.restrict(libc::MOUNT_ATTR_RDONLY)?;
    tree.attach(path)
}

fn pin(path: &Path) -> io::Result<()> {
    MountTree::copy(path)?.attach(path)
}

/// What somebody removes meanwhile needs no mount, and must not keep commands from running. What
/// somebody puts in its place does: a directory does not fit over a file, so another try is made.
fn unless_gone(mount: impl Fn() -> io::Result<()>) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, NotADirectory, NotFound};
    let mut attempts = 1;
    loop {
        match mount() {
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(()),
            Err(error) if error.kind() == InvalidInput && attempts < MOUNT_ATTEMPTS_MAX => {
                attempts += 1;
            }
            mounted => return mounted,
        }
    }
}

/// Says whether a path lies in a writable root without being one.
fn is_inside(path: &Path, cage: &Cage) -> bool {
    let is_below = |root: &PathBuf| path.starts_with(root) && path != root;
    cage.writable.iter().any(is_below) && !cage.writable.iter().any(|root| root == path)
}

/// A root that needs no mount of its own, because everything stays writable.
fn is_everything(root: &Path) -> bool {
    root.parent().is_none()
}

/// Terminals and shared memory of our own: those of the host belong to other programs.
fn private_devices() -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
    let (terminals, multiplexer) = (Path::new("/dev/pts"), Path::new("/dev/ptmx"));
    if terminals.is_dir() {
        let options = "newinstance,ptmxmode=0666,mode=620";
        mount_plain(Some("devpts"), terminals, flags, Some(options))?;
        if multiplexer.exists() && !multiplexer.is_symlink() {
            MountTree::copy(&terminals.join("ptmx"))?.attach(multiplexer)?;
        }
    }
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        mount_plain(
            Some("tmpfs"),
            memory,
            flags | MsFlags::MS_NODEV,
            Some("mode=1777"),
        )?;
    }
    Ok(())
}

/// Covers a directory with an empty one in which nothing can be made.
pub(super) fn cover_directory(directory: &Path) -> io::Result<()> {
    hide(directory, &[])
}

/// Takes a cover off again.
pub(super) fn uncover(path: &Path) -> io::Result<()> {
    let flags = MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW;
    Ok(umount2(path, flags)?)
}

/// Covers a directory with an empty one that has only the way to what is not hidden inside it.
fn hide(directory: &Path, inside: &[PathBuf]) -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount_plain(Some("tmpfs"), directory, flags, Some("mode=755,size=64k"))?;
    for path in inside {
        std::fs::create_dir_all(path)?;
    }
    MountTree::at(directory).restrict(libc::MOUNT_ATTR_RDONLY)
}

fn mount_plain(
    kind: Option<&str>,
    target: &Path,
    flags: MsFlags,
    options: Option<&str>,
) -> io::Result<()> {
    Ok(mount(kind, target, kind, flags, options)?)
}

/// A mount and everything mounted below it.
enum MountTree {
    /// Where it is.
    At(CString),
    /// A copy that is mounted nowhere yet.
    Detached(OwnedFd),
}

impl MountTree {
    fn at(path: &Path) -> Self {
        Self::At(c_path(path))
    }

    fn copy(path: &Path) -> io::Result<Self> {
        let flags =
            libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC | libc::AT_RECURSIVE.cast_unsigned();
        let path = c_path(path);
        // SAFETY: the path is live during the call.
        let fd =
            unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        let fd = i32::try_from(fd).map_err(io::Error::other)?;
        // SAFETY: the call has just made this descriptor.
        Ok(Self::Detached(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Adds attributes to every mount of the tree.
    fn restrict(&self, attributes: u64) -> io::Result<()> {
        let (directory, path, flags) = match self {
            Self::At(path) => (libc::AT_FDCWD, path.as_c_str(), libc::AT_RECURSIVE),
            Self::Detached(fd) => (
                fd.as_raw_fd(),
                c"",
                libc::AT_RECURSIVE | libc::AT_EMPTY_PATH,
            ),
        };
        let change = libc::mount_attr {
            attr_set: attributes,
            attr_clr: 0,
            propagation: 0,
            userns_fd: 0,
        };
        // SAFETY: path and change are live during the call, and its size is that of the struct.
        let result = unsafe {
            libc::syscall(
                libc::SYS_mount_setattr,
                directory,
                path.as_ptr(),
                flags,
                &raw const change,
                size_of::<libc::mount_attr>(),
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Mounts a copy over a path; one that is mounted already stays where it is.
    fn attach(self, path: &Path) -> io::Result<()> {
        let Self::Detached(fd) = self else {
            return Ok(());
        };
        let path = c_path(path);
        // SAFETY: both paths are live during the call.
        let result = unsafe {
            libc::syscall(
                libc::SYS_move_mount,
                fd.as_raw_fd(),
                c"".as_ptr(),
                libc::AT_FDCWD,
                path.as_ptr(),
                libc::MOVE_MOUNT_F_EMPTY_PATH,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("paths that exist contain no NUL byte")
}
