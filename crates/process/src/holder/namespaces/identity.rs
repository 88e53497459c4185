//! Who the processes of a user namespace are: the same as outside.
//!
//! An ordinary user may map only itself and does so from inside. Root maps everybody, so that it
//! can still work on files of others; that takes a process which has stayed outside.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use nix::fcntl::OFlag;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getegid, geteuid, pipe2};

pub(super) enum NamespaceIdentity {
    Itself { uid: u32, gid: u32 },
    Everybody { helper: Pid, begin: OwnedFd },
}

impl NamespaceIdentity {
    /// To be called before the user namespace is made.
    pub fn prepare() -> io::Result<Self> {
        if !geteuid().is_root() {
            return Ok(Self::Itself {
                uid: geteuid().as_raw(),
                gid: getegid().as_raw(),
            });
        }
        let maps = ["uid_map", "gid_map"].map(same_ids);
        let parent = Pid::this();
        let (begun, begin) = pipe2(OFlag::O_CLOEXEC)?;
        // SAFETY: this process has a single thread.
        match unsafe { fork() }? {
            ForkResult::Child => {
                drop(begin);
                let code = match write_maps(parent, begun, maps) {
                    Ok(()) => 0,
                    Err(error) => error.raw_os_error().unwrap_or(libc::EIO),
                };
                // SAFETY: ends the child; it has nothing to clean up.
                unsafe { libc::_exit(code) }
            }
            ForkResult::Parent { child } => Ok(Self::Everybody {
                helper: child,
                begin,
            }),
        }
    }

    /// To be called in the new user namespace.
    pub fn map(self) -> io::Result<()> {
        match self {
            Self::Itself { uid, gid } => {
                fs::write("/proc/self/setgroups", "deny")?;
                fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
                fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
            }
            Self::Everybody { helper, begin } => {
                drop(begin);
                match waitpid(helper, None)? {
                    WaitStatus::Exited(_, 0) => Ok(()),
                    WaitStatus::Exited(_, errno) => Err(io::Error::from_raw_os_error(errno)),
                    _ => Err(io::Error::other("the helper was killed")),
                }
            }
        }
    }
}

/// Waits for the parent to be in its new namespace and maps everybody there.
fn write_maps(parent: Pid, begun: OwnedFd, maps: [io::Result<String>; 2]) -> io::Result<()> {
    let [uids, gids] = maps;
    fs::File::from(begun)
        .read_exact(&mut [0])
        .or_else(|error| {
            let is_closed = error.kind() == io::ErrorKind::UnexpectedEof;
            if is_closed { Ok(()) } else { Err(error) }
        })?;
    // The whole map in one write, or the kernel refuses it.
    let put = |name: &str, map: String| {
        let file = fs::OpenOptions::new()
            .write(true)
            .open(format!("/proc/{parent}/{name}"));
        file?.write_all(map.as_bytes())
    };
    put("uid_map", uids?)?;
    put("gid_map", gids?)
}

/// The map that gives every id of the current namespace the same number in a new one below it.
fn same_ids(name: &str) -> io::Result<String> {
    let current = fs::read_to_string(format!("/proc/self/{name}"))?;
    let mut map = String::new();
    for line in current.lines() {
        let mut fields = line.split_whitespace();
        if let (Some(first), Some(_outside), Some(count)) =
            (fields.next(), fields.next(), fields.next())
        {
            writeln!(map, "{first} {first} {count}").map_err(io::Error::other)?;
        }
    }
    Ok(map)
}
