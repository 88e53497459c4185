//! Sees what a confined command tries that its policy refuses, so that a failure can be told from
//! a denial by evidence.
//!
//! The kernel stops the caller of certain calls and reports it here. Refused calls are answered
//! with an error. Calls that write files go on, and mounts and Landlock decide about them: what
//! is read here may change before the kernel reads it again, so it is evidence and no defence.
//! Where nothing can be mounted over, `loose` is the defence behind it.

mod planting;
mod unmounted;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::geteuid;

use self::planting::OldDirectories;
pub(super) use self::planting::begin;
pub(super) use self::unmounted::UnmountedPaths;
pub(crate) use self::unmounted::put_aside;
use crate::cage::{Cage, CageOccupant, MODE_SETTERS, PathArgument, REFUSED_AND_TOLD, WRITES};
use crate::limits::{DENIAL_BYTES_MAX, DENIALS_MAX};
use crate::roots::{WritableRoots, resolve};

/// Directories in which every write is to a device or a process, not to a file.
const NO_FILES: [&str; 2] = ["/dev", "/proc"];

pub(super) struct DenialMonitor {
    listener: Option<OwnedFd>,
    roots: WritableRoots,
    /// What Landlock hides, around which it lets nothing new be made.
    hidden: Vec<PathBuf>,
    loose: UnmountedPaths,
    old: OldDirectories,
    /// Protected paths that nothing holds, because there are no mounts: to write there succeeds.
    unheld: Vec<PathBuf>,
    /// Something that the command had made was moved aside.
    moved_aside: bool,
    /// It made a call that writes to the file system, or nobody could see whether it did.
    has_written: bool,
    denials: Vec<String>,
}

impl DenialMonitor {
    /// Without a listener, only what was made can be seen.
    pub fn new(
        cage: Cage,
        inmate: CageOccupant,
        loose: UnmountedPaths,
        listener: Option<OwnedFd>,
    ) -> Self {
        if let Some(listener) = &listener {
            enable_sync_wakeup(listener);
        }
        Self {
            has_written: listener.is_none(),
            listener,
            loose,
            old: OldDirectories::of(&cage, inmate),
            unheld: unheld(&cage),
            moved_aside: false,
            hidden: cage.hidden.clone(),
            roots: cage.into(),
            denials: Vec::new(),
        }
    }

    /// Readable when a call waits for [`DenialMonitor::hear`].
    pub fn listener(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd)
    }

    /// Takes a reported call and answers it.
    pub fn handle_call(&mut self) {
        let Some(listener) = &self.listener else {
            return;
        };
        let Ok(call) = ReportedCall::receive(listener) else {
            // The caller was killed meanwhile; or nobody is left who could be reported, of which
            // the kernel would go on to remind us.
            if has_hung_up(listener) {
                self.listener = None;
            }
            return;
        };
        let (answer, denial) = match call.kind() {
            ReportedCallKind::Write(paths) => {
                self.has_written = true;
                self.judge(&call, paths)
            }
            ReportedCallKind::Refused(what) => (CallVerdict::Refuse, Some(what)),
        };
        call.answer(listener, answer);
        if let Some(denial) = denial {
            self.note(&denial);
        }
    }

    /// Readable when something was made where [`DenialMonitor::put_back`] has to look.
    pub fn created_path_fd(&self) -> Option<BorrowedFd<'_>> {
        self.loose.created_path_fd()
    }

    /// Moves protected paths that have come or changed aside, where nothing looks for hooks or
    /// configuration. Tells whether there were any, now or before.
    pub fn put_back(&mut self) -> bool {
        for told in self.loose.put_back() {
            self.moved_aside = true;
            self.note(&told);
        }
        self.moved_aside
    }

    pub fn has_written(&self) -> bool {
        self.has_written
    }

    /// What was seen.
    pub fn take_denials(&mut self) -> Vec<String> {
        std::mem::take(&mut self.denials)
    }

    /// Saves looking at the disk for nearly every write.
    fn is_plainly_writable(&self, path: &Path) -> bool {
        let below = |roots: &[PathBuf]| roots.iter().any(|root| path.starts_with(root));
        let goes_up = path.components().any(|part| part == Component::ParentDir);
        !goes_up && below(&self.roots.writable) && !below(&self.roots.protected)
    }

    /// Tells whether nothing refuses to write there, though the policy means it to.
    fn is_unheld(&self, path: &Path) -> bool {
        let below = |path: &Path| self.unheld.iter().any(|it| path.starts_with(it));
        !self.unheld.is_empty() && below(&resolve(path))
    }

    fn is_new_around_hidden(&self, path: &Path) -> bool {
        if self.hidden.is_empty() || path.symlink_metadata().is_ok() {
            return false;
        }
        let directory = path.parent().map(Path::canonicalize);
        matches!(directory, Some(Ok(directory))
            if self.hidden.iter().any(|it| *it != directory && it.starts_with(&directory)))
    }

    /// Paths are chosen by the command and will be shown: they must not steer a terminal.
    fn note(&mut self, denial: &str) {
        let mut denial = denial.replace(char::is_control, "\u{fffd}");
        denial.truncate(denial.floor_char_boundary(DENIAL_BYTES_MAX));
        if self.denials.len() < DENIALS_MAX && !self.denials.contains(&denial) {
            self.denials.push(denial);
        }
    }

    /// What mounts and Landlock decide about goes on; what they cannot refuse is refused here.
    fn judge(&self, call: &ReportedCall, paths: &[PathArgument]) -> (CallVerdict, Option<String>) {
        let paths = paths.iter().filter_map(|argument| call.path(*argument));
        let paths: Vec<PathBuf> = paths.collect();
        let is_refused = |path: &&PathBuf| self.loose.contain(path) || self.old.would_gain(path);
        if let Some(path) = paths.iter().find(is_refused) {
            return (
                CallVerdict::Refuse,
                Some(format!("write to {}", path.display())),
            );
        }
        (CallVerdict::GoOn, self.refused_path(&paths))
    }

    fn refused_path(&self, paths: &[PathBuf]) -> Option<String> {
        let refused = paths.iter().find(|path| {
            let is_file = !NO_FILES.iter().any(|directory| path.starts_with(directory));
            let is_permitted =
                self.is_plainly_writable(path) || self.roots.permits(path) || self.is_unheld(path);
            is_file && (!is_permitted || self.is_new_around_hidden(path))
        });
        Some(format!("write to {}", refused?.display()))
    }
}

/// Returns the protected paths that are there and can be written: Landlock alone cannot take
/// rights away inside of a root that has them.
fn unheld(cage: &Cage) -> Vec<PathBuf> {
    let in_root = |path: &&PathBuf| {
        let is_hidden = cage.hidden.iter().any(|hidden| path.starts_with(hidden));
        !is_hidden && cage.writable.iter().any(|root| path.starts_with(root))
    };
    let is_held = |path: &PathBuf| {
        let found = statvfs(path.as_path());
        found.map_or(true, |it| it.flags().contains(FsFlags::ST_RDONLY))
    };
    let protected = cage.protected.iter().filter(in_root);
    protected.filter(|path| !is_held(path)).cloned().collect()
}

/// Asks the kernel to hand the processor from the caller to us and back, instead of waking us like
/// any other process: on a busy machine that is the difference between microseconds and
/// milliseconds for every file that a command writes.
fn enable_sync_wakeup(listener: &OwnedFd) {
    const SYNC_WAKE_UP: libc::c_ulong = 1;
    // SAFETY: the request takes a number. Kernels before 6.6 do not know it and stay slow.
    let _ = unsafe { libc::ioctl(listener.as_raw_fd(), NOTIF_SET_FLAGS, SYNC_WAKE_UP) };
}

fn has_hung_up(listener: &OwnedFd) -> bool {
    let mut ready = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
    let polled = poll(&mut ready, PollTimeout::ZERO);
    let hung_up = |it: &PollFd| {
        it.revents()
            .is_some_and(|it| it.contains(PollFlags::POLLHUP))
    };
    polled.is_err() || ready.iter().any(hung_up)
}

/// A call that waits for an answer.
struct ReportedCall(libc::seccomp_notif);

enum ReportedCallKind {
    Write(&'static [PathArgument]),
    Refused(String),
}

enum CallVerdict {
    GoOn,
    Refuse,
}

const NOTIF_RECV: libc::c_ulong = request_code::<libc::seccomp_notif>(READ | WRITE, 0);
const NOTIF_SEND: libc::c_ulong = request_code::<libc::seccomp_notif_resp>(READ | WRITE, 1);
const NOTIF_SET_FLAGS: libc::c_ulong = request_code::<u64>(WRITE, 4);

const WRITE: libc::c_ulong = 1 << 30;
const READ: libc::c_ulong = 2 << 30;

/// `_IOC(direction, '!', number, T)`.
const fn request_code<T>(direction: libc::c_ulong, number: libc::c_ulong) -> libc::c_ulong {
    direction | (size_of::<T>() as libc::c_ulong) << 16 | (b'!' as libc::c_ulong) << 8 | number
}

impl ReportedCall {
    fn receive(listener: &OwnedFd) -> io::Result<Self> {
        // SAFETY: all zeroes is valid, and what the kernel wants to find there.
        let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the request's code has the size of the struct that the kernel fills.
        match unsafe { libc::ioctl(listener.as_raw_fd(), NOTIF_RECV, &raw mut call) } {
            0 => Ok(Self(call)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn answer(&self, listener: &OwnedFd, answer: CallVerdict) {
        // SECCOMP_USER_NOTIF_FLAG_CONTINUE, whose type in libc is not that of the field.
        const GO_ON: u32 = 1;
        let (error, flags) = match answer {
            CallVerdict::GoOn => (0, GO_ON),
            CallVerdict::Refuse => (-libc::EPERM, 0),
        };
        let mut response = libc::seccomp_notif_resp {
            id: self.0.id,
            val: 0,
            error,
            flags,
        };
        // SAFETY: the request's code has the size of the struct that the kernel reads.
        // It fails only if the caller was killed meanwhile.
        let _ = unsafe { libc::ioctl(listener.as_raw_fd(), NOTIF_SEND, &raw mut response) };
    }

    fn kind(&self) -> ReportedCallKind {
        let number = libc::c_long::from(self.0.data.nr);
        let mut setters = MODE_SETTERS.iter().filter(|it| it.call == number);
        if geteuid().is_root() && setters.any(|it| it.sets_id(&self.0.data.args)) {
            return ReportedCallKind::Refused(
                "a file with a set-user-ID or set-group-ID bit".to_owned(),
            );
        }
        if let Some(write) = WRITES.iter().find(|write| write.call == number) {
            return ReportedCallKind::Write(write.paths);
        }
        if number == libc::SYS_socket {
            return ReportedCallKind::Refused(family_name(self.0.data.args[0]));
        }
        let told = REFUSED_AND_TOLD.iter().find(|(call, _)| *call == number);
        ReportedCallKind::Refused(told.map_or("a new namespace", |(_, name)| name).to_owned())
    }

    /// The path that an argument points to, absolute.
    fn path(&self, argument: PathArgument) -> Option<PathBuf> {
        let pid = self.0.pid;
        let mut bytes = [0_u8; libc::PATH_MAX as usize];
        let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
        let address = self.0.data.args[usize::from(argument.path)];
        let length = memory.read_at(&mut bytes, address).ok()?;
        let end = bytes[..length].iter().position(|byte| *byte == 0)?;
        let path = Path::new(OsStr::from_bytes(&bytes[..end]));
        if path.is_absolute() {
            return Some(path.to_path_buf());
        }
        let directory = argument
            .directory
            .map(|index| self.0.data.args[usize::from(index)]);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the kernel reads an int as well"
        )]
        let link = match directory.map(|value| value as i32) {
            None | Some(libc::AT_FDCWD) => format!("/proc/{pid}/cwd"),
            Some(fd) => format!("/proc/{pid}/fd/{fd}"),
        };
        Some(std::fs::read_link(link).ok()?.join(path))
    }
}

fn family_name(family: u64) -> String {
    match i32::try_from(family) {
        Ok(libc::AF_INET) => "network access (IPv4)".to_owned(),
        Ok(libc::AF_INET6) => "network access (IPv6)".to_owned(),
        _ => format!("network access (address family {family})"),
    }
}
