//! A name in an open directory, and what is done with such names.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, RenameFlags, openat, renameat, renameat2};
use nix::sys::stat::{Mode, fchmod, fstat, fstatat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, unlinkat};

use crate::limits::STAGE_ATTEMPTS_MAX;
use crate::target::FileAttributes;

/// A name in an open directory.
#[derive(Debug, Clone)]
pub struct EntryHandle {
    pub dir: Arc<OwnedFd>,
    pub name: OsString,
    /// For people: the file of the patch that this belongs to.
    pub path: String,
}

impl EntryHandle {
    /// A new name for a temporary file beside this one.
    pub fn staged(&self) -> Self {
        // Not the process id: each confined patch has the same one, in a namespace of its own.
        static BEGAN: LazyLock<u128> = LazyLock::new(|| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            now.unwrap_or_default().as_nanos()
        });
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            dir: Arc::clone(&self.dir),
            name: format!(".troupe-patch.{:x}.{number}", *BEGAN).into(),
            path: self.path.clone(),
        }
    }

    /// The path beside that of the patch.
    pub fn display(&self) -> String {
        let path = Path::new(&self.path).with_file_name(&self.name);
        path.display().to_string()
    }
}

pub fn create_staged(target: &EntryHandle, mode: u32) -> io::Result<(File, EntryHandle)> {
    let flags =
        OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mode = Mode::from_bits_truncate(mode);
    let mut attempts = 1;
    loop {
        let staged = target.staged();
        match openat(&*staged.dir, staged.name.as_os_str(), flags, mode) {
            Ok(fd) => return Ok((File::from(fd), staged)),
            // Begun by another process in the same instant.
            Err(Errno::EEXIST) if attempts < STAGE_ATTEMPTS_MAX => attempts += 1,
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Gives the file to the owner of the one before; says whether that was allowed.
pub fn keep_owner(file: &File, attributes: FileAttributes) -> io::Result<bool> {
    let stat = fstat(file)?;
    if (stat.st_uid, stat.st_gid) == (attributes.user, attributes.group) {
        return Ok(true);
    }
    let (user, group) = (
        Uid::from_raw(attributes.user),
        Gid::from_raw(attributes.group),
    );
    match fchown(file, Some(user), Some(group)) {
        Ok(()) => Ok(true),
        // The second if the owner has no name in the namespace that the patch is confined to.
        Err(Errno::EPERM | Errno::EINVAL) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

pub fn exchange(one: &EntryHandle, other: &EntryHandle) -> nix::Result<()> {
    let flags = RenameFlags::RENAME_EXCHANGE;
    renameat2(
        &*one.dir,
        one.name.as_os_str(),
        &*other.dir,
        other.name.as_os_str(),
        flags,
    )
}

pub fn rename(from: &EntryHandle, to: &EntryHandle) -> nix::Result<()> {
    renameat(
        &*from.dir,
        from.name.as_os_str(),
        &*to.dir,
        to.name.as_os_str(),
    )
}

pub fn rename_to_absent(from: &EntryHandle, to: &EntryHandle) -> nix::Result<()> {
    let flags = RenameFlags::RENAME_NOREPLACE;
    match renameat2(
        &*from.dir,
        from.name.as_os_str(),
        &*to.dir,
        to.name.as_os_str(),
        flags,
    ) {
        Err(Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP) => {
            match fstatat(&*to.dir, to.name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW) {
                Err(Errno::ENOENT) => rename(from, to),
                Ok(_) => Err(Errno::EEXIST),
                Err(errno) => Err(errno),
            }
        }
        renamed => renamed,
    }
}

pub fn copy_beside(target: &EntryHandle) -> io::Result<EntryHandle> {
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let mut original = File::from(openat(
        &*target.dir,
        target.name.as_os_str(),
        flags,
        Mode::empty(),
    )?);
    let stat = fstat(&original)?;
    let (mut copy, kept) = create_staged(target, 0o600)?;
    let copied = io::copy(&mut original, &mut copy)
        .and_then(|_| Ok(fchmod(&copy, Mode::from_bits_truncate(stat.st_mode))?));
    if let Err(error) = copied {
        unlink(&kept)?;
        return Err(error);
    }
    Ok(kept)
}

pub fn unlink(spot: &EntryHandle) -> nix::Result<()> {
    unlinkat(
        &*spot.dir,
        spot.name.as_os_str(),
        UnlinkatFlags::NoRemoveDir,
    )
}
