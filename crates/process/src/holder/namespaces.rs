//! Namespaces: what a holder sets up once for all commands of one policy.
//!
//! | namespace | made by | what it keeps from commands |
//! |---|---|---|
//! | user | holder | capabilities that reach beyond the sandbox |
//! | mount | holder, copied per keeper | writes, `$TROUPE_HOME`, terminals and sockets of others |
//! | network | holder, if the policy has none | every network but an unconnected loopback |
//! | ipc | holder | shared memory and queues of others |
//! | pid | one per keeper | other processes: it sees, and can signal, only its own |

mod identity;
mod mounts;
mod names;
mod sockets;

use std::io;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid};

use self::identity::NamespaceIdentity;
pub(super) use self::names::HeldNames;
use self::sockets::SocketCovers;
use crate::cage::Cage;
use crate::roots::NetworkAccess;

/// The namespaces that a holder has moved itself into.
#[derive(Debug)]
pub(super) struct HolderNamespaces {
    sockets: SocketCovers,
}

/// What could not be set up; the step is for people.
#[derive(Debug)]
pub(super) struct SetupError {
    pub step: &'static str,
    pub source: io::Error,
}

impl HolderNamespaces {
    /// Moves the calling process into namespaces for the cage, and tries whether commands can be
    /// started there.
    pub fn enter(cage: &Cage) -> Result<Self, SetupError> {
        // Opened before the network namespace changes, these keep showing the host's sockets.
        let mut sockets = SocketCovers::open().map_err(at("listing Unix sockets"))?;
        let identity = NamespaceIdentity::prepare().map_err(at("preparing the identity map"))?;
        unshare(flags(cage.network)).map_err(at("creating namespaces"))?;
        identity.map().map_err(at("mapping user and group"))?;
        mounts::confine(cage).map_err(at("mounting"))?;
        sockets.mask().map_err(at("masking Unix sockets"))?;
        try_keeper().map_err(at("mounting /proc of a process namespace"))?;
        Ok(Self { sockets })
    }

    /// Keeps the next command from the sockets that have been bound since the last one. Only the
    /// calling process's own mount namespace changes.
    pub fn cover_sockets(&mut self) -> io::Result<()> {
        self.sockets.mask()
    }
}

fn at<E: Into<io::Error>>(step: &'static str) -> impl FnOnce(E) -> SetupError {
    move |error| SetupError {
        step,
        source: error.into(),
    }
}

fn flags(network: NetworkAccess) -> CloneFlags {
    let always = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC;
    match network {
        NetworkAccess::Denied => always | CloneFlags::CLONE_NEWNET,
        NetworkAccess::Allowed => always,
    }
}

/// Forks a keeper, the first process of its own pid namespace, with a copy of the mounts.
/// `unshare` could do it only once.
pub(super) fn fork_first() -> io::Result<ForkResult> {
    let flags = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::SIGCHLD;
    // SAFETY: without a stack the child runs on a copy of this one, as after fork; this process
    // has a single thread, so no lock is held by another.
    match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(ForkResult::Child),
        pid => Ok(ForkResult::Parent {
            child: Pid::from_raw(i32::try_from(pid).map_err(io::Error::other)?),
        }),
    }
}

/// Shows the calling process, the first of its namespace, its own `/proc`. It is read-only: as
/// root, `/proc/sys` would be a way to the whole machine.
pub(super) fn mount_proc() -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
    mount(Some("proc"), "/proc", Some("proc"), flags, None::<&str>)?;
    Ok(())
}

/// Makes a process namespace once, because a container that hides parts of its `/proc` lets
/// everything else succeed and only this fail.
fn try_keeper() -> io::Result<()> {
    match fork_first()? {
        ForkResult::Child => {
            let code = match mount_proc() {
                Ok(()) => 0,
                Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
            };
            // SAFETY: ends the child; it has nothing to clean up.
            unsafe { libc::_exit(code) }
        }
        ForkResult::Parent { child } => loop {
            match waitpid(child, None) {
                Ok(WaitStatus::Exited(_, 0)) => return Ok(()),
                Ok(WaitStatus::Exited(_, errno)) => {
                    return Err(io::Error::from_raw_os_error(errno));
                }
                Ok(_) => return Err(io::Error::other("it was killed")),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        },
    }
}
