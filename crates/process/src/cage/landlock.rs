//! Landlock: reads everywhere, writes beneath the roots and to the harmless devices.
//!
//! Handled as far as the running kernel knows it. Landlock only ever adds rights on the way
//! down, so a protected directory inside a writable root is beyond it; mounts do that. Around a
//! hidden directory the root itself gets none: what is in it does, entry by entry, and nothing new
//! can be made beside them.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};

use super::Cage;
use crate::roots::NetworkAccess;

/// The newest interface whose rights are spelled out here; older kernels enforce what they know.
const NEWEST: ABI = ABI::V9;

/// Devices without which ordinary programs fail, and which carry nothing out of the sandbox.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Semaphores and shared memory of `sem_open` and `shm_open`, for commands that may write at all.
const SHARED_MEMORY: &str = "/dev/shm";

/// The interface version of the running kernel; 0 where Landlock is missing or off.
pub(crate) fn abi() -> u32 {
    const VERSION: libc::c_ulong = 1;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call takes no attributes and only returns a number.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, VERSION) };
    u32::try_from(abi).unwrap_or(0)
}

pub(super) fn ruleset(cage: &Cage) -> io::Result<RulesetCreated> {
    let mut rules = LandlockRules::new(cage)?;
    for root in &cage.writable {
        rules.allow_around(&cage.hidden, root, writing() | AccessFs::ReadFile)?;
    }
    for device in DEVICES {
        rules.allow(Path::new(device), device_use())?;
    }
    if !cage.writable.is_empty() {
        let access = writing() | AccessFs::ReadFile;
        rules.allow_around(&cage.hidden, Path::new(SHARED_MEMORY), access)?;
    }
    if !cage.hidden.is_empty() {
        rules.allow_around(&cage.hidden, Path::new("/"), AccessFs::ReadFile.into())?;
        for shown in &cage.shown {
            rules.allow_entry(shown, AccessFs::ReadFile.into())?;
        }
    }
    Ok(rules.ruleset)
}

/// Restricts the calling process, for good.
pub(super) fn restrict(ruleset: &RulesetCreated) -> io::Result<()> {
    let ruleset = ruleset.try_clone()?;
    ruleset.restrict_self().map_err(io::Error::other)?;
    Ok(())
}

struct LandlockRules {
    ruleset: RulesetCreated,
    handled: BitFlags<AccessFs>,
}

impl LandlockRules {
    /// Refuses everything that is handled, until rules allow it. Reading is handled only if there
    /// is something to hide, because it then takes many more rules.
    fn new(cage: &Cage) -> io::Result<Self> {
        let mut handled = AccessFs::from_write(NEWEST);
        if !cage.hidden.is_empty() {
            handled |= AccessFs::ReadFile;
        }
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(handled)
            .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)))
            .and_then(|ruleset| match cage.network {
                NetworkAccess::Denied => ruleset.handle_access(AccessNet::from_all(NEWEST)),
                NetworkAccess::Allowed => Ok(ruleset),
            })
            .and_then(Ruleset::create)
            .map_err(io::Error::other)?;
        Ok(Self { ruleset, handled })
    }

    /// Adds a rule; what does not exist needs none.
    fn allow(&mut self, path: &Path, access: BitFlags<AccessFs>) -> io::Result<()> {
        let Ok(file) = PathFd::new(path) else {
            return Ok(());
        };
        self.add(file, path.is_dir(), access)
    }

    /// Adds a rule for a directory, or, if something hidden lies in it, for each of the siblings
    /// found on the way down.
    fn allow_around(
        &mut self,
        hidden: &[PathBuf],
        root: &Path,
        access: BitFlags<AccessFs>,
    ) -> io::Result<()> {
        let is_around = |path: &Path| hidden.iter().any(|it| it != path && it.starts_with(path));
        if !is_around(root) {
            return self.allow(root, access);
        }
        let mut open = vec![root.to_path_buf()];
        while let Some(directory) = open.pop() {
            let Ok(entries) = directory.read_dir() else {
                continue;
            };
            for path in entries.flatten().map(|entry| entry.path()) {
                if is_around(&path) {
                    open.push(path);
                } else if !hidden.contains(&path) {
                    self.allow_entry(&path, access)?;
                }
            }
        }
        Ok(())
    }

    /// Adds a rule for what bears this very name. A symlink gives no right to where it leads.
    fn allow_entry(&mut self, path: &Path, access: BitFlags<AccessFs>) -> io::Result<()> {
        let Ok((entry, kind)) = open_entry(path) else {
            return Ok(());
        };
        if kind.is_symlink() {
            return Ok(());
        }
        self.add(entry, kind.is_dir(), access)
    }

    fn add(&mut self, file: impl AsFd, is_dir: bool, access: BitFlags<AccessFs>) -> io::Result<()> {
        let mut access = access & self.handled;
        if !is_dir {
            access &= AccessFs::from_file(NEWEST);
        }
        (&mut self.ruleset)
            .add_rule(PathBeneath::new(file, access))
            .map_err(io::Error::other)?;
        Ok(())
    }
}

/// Device nodes are left out: as root, one made for a disk would be a way around every path.
/// So is [`AccessFs::ResolveUnix`]: servers outside the sandbox are not for it to talk to.
fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_write(NEWEST)
        & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::ResolveUnix | AccessFs::IoctlDev)
}

fn device_use() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev
}

fn open_entry(path: &Path) -> io::Result<(File, std::fs::FileType)> {
    let entry = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)?;
    let kind = entry.metadata()?.file_type();
    Ok((entry, kind))
}
