//! Who may speak for the user at a Unix socket of ours: the user's own processes, and no command
//! that is held in a sandbox.
//!
//! Mounts cover the sockets that are bound when a command starts, and Landlock knows nothing of
//! `connect` on most kernels. So whoever listens asks the kernel who has come. Every confined
//! command has given up new privileges and has a seccomp filter more than its engine, and neither
//! can be taken off again, whatever it executes or leaves behind; that is what is looked for.
//! Sandboxes of others look the same, and are kept out as well.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt};

/// Why nobody listens to whoever has connected.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    #[error("user {peer} may not speak for user {user}")]
    AnotherUser { peer: u32, user: u32 },
    #[error("a process in a sandbox may not speak for the user")]
    Sandboxed,
    #[error("the process that has connected cannot be looked at ({0}); it may have ended")]
    Unknown(#[from] io::Error),
}

/// Tells whether the process at the other end of a Unix socket may speak for `user`. It is the one
/// that connected, also if another has the socket now.
pub fn check_peer(stream: &impl AsFd, user: u32) -> Result<(), PeerError> {
    let stream = stream.as_fd();
    let credentials = getsockopt(&stream, sockopt::PeerCredentials).map_err(io::Error::from)?;
    let peer = credentials.uid();
    if peer != user {
        return Err(PeerError::AnotherUser { peer, user });
    }
    // What connected to itself has no sandbox that this process is not in.
    if credentials.pid() == std::process::id().cast_signed() {
        return Ok(());
    }
    let process = process_of(stream, credentials.pid())?;
    let theirs = PeerRestraint::of(&credentials.pid().to_string())?;
    // Numbers of ended processes are used again: what was read is of the right one only if that
    // one is still there.
    if has_ended(&process)? {
        return Err(PeerError::Unknown(io::ErrorKind::NotFound.into()));
    }
    let ours = PeerRestraint::of("self")?;
    if theirs.is_tighter_than(ours) {
        return Err(PeerError::Sandboxed);
    }
    Ok(())
}

/// What a process has given up for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PeerRestraint {
    no_new_privileges: bool,
    filters: u32,
}

impl PeerRestraint {
    fn of(process: &str) -> io::Result<Self> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
        Self::read(&status).ok_or_else(|| io::Error::other("its status is not understood"))
    }

    fn read(status: &str) -> Option<Self> {
        let number = |name: &str| -> Option<u32> {
            let mut lines = status.lines();
            lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        Some(Self {
            no_new_privileges: number("NoNewPrivs:")? != 0,
            // Every kernel that can hold a command to its policy counts them.
            filters: number("Seccomp_filters:")?,
        })
    }

    fn is_tighter_than(self, other: Self) -> bool {
        self.no_new_privileges && self.filters > other.filters
    }
}

/// Returns the process that has connected, which is never another with the same number on a
/// kernel that knows how (6.5); before, it is whoever has the number now.
fn process_of(stream: BorrowedFd<'_>, pid: libc::pid_t) -> io::Result<OwnedFd> {
    const SO_PEERPIDFD: libc::c_int = 77;
    let mut fd: libc::c_int = -1;
    let mut length = libc::socklen_t::try_from(size_of_val(&fd)).map_err(io::Error::other)?;
    // SAFETY: both pointers are live, and the length is that of what the kernel fills.
    let asked = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_PEERPIDFD,
            (&raw mut fd).cast(),
            &raw mut length,
        )
    };
    if asked == 0 {
        // SAFETY: the call has just made this descriptor.
        return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() != Some(libc::ENOPROTOOPT) {
        return Err(error);
    }
    // SAFETY: the call takes two numbers.
    let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if opened < 0 {
        return Err(io::Error::last_os_error());
    }
    let opened = i32::try_from(opened).map_err(io::Error::other)?;
    // SAFETY: the call has just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

fn has_ended(process: &OwnedFd) -> io::Result<bool> {
    let mut ready = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    Ok(poll(&mut ready, PollTimeout::ZERO)? > 0)
}

#[cfg(test)]
mod tests;
