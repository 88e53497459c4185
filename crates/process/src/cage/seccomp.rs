//! seccomp: system calls that no confined command needs, and sockets when the network is off.
//!
//! A rule has one of several answers: not permitted, not implemented, or tell whoever listens and
//! let them answer.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::OnceLock;

use libc::sock_filter;
use nix::unistd::geteuid;

use super::assembler::assemble;
use super::{CageOccupant, calls};
use crate::roots::NetworkAccess;

/// Every kind of namespace that `clone` can make; a new user namespace would give capabilities.
const NEW_NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP)
    .cast_unsigned();

/// `ioctl`s that put input into a terminal as if its user had typed it.
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541c;

/// What catches calls, in order of their numbers; for one call, in the order of adding.
#[derive(Debug, Default)]
pub(super) struct SeccompRules(pub BTreeMap<u32, Vec<(CallCondition, u32)>>);

impl SeccompRules {
    fn add(&mut self, call: libc::c_long, when: CallCondition, answer: u32) {
        let call = u32::try_from(call).expect("call numbers are small and positive");
        self.0.entry(call).or_default().push((when, answer));
    }
}

/// When a call is caught. Arguments are compared by their low 32 bits, which is all that the
/// kernel looks at for those used here.
#[derive(Debug, Clone, Copy)]
pub(super) enum CallCondition {
    Always,
    Equals {
        argument: u8,
        value: u32,
    },
    Differs {
        argument: u8,
        value: u32,
    },
    HasAny {
        argument: u8,
        bits: u32,
    },
    /// Some of the first and some of the second.
    HasAnyOfBoth(ArgumentBits, ArgumentBits),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct ArgumentBits {
    pub argument: u8,
    pub bits: u32,
}

/// Whether somebody listens for calls that are evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListenerPresence {
    Yes,
    No,
}

/// The filter of one policy, compiled for a kernel that reports calls and for one that does not.
#[derive(Debug, Clone)]
pub(crate) struct SeccompFilter {
    reporting: Vec<sock_filter>,
    silent: Vec<sock_filter>,
}

impl SeccompFilter {
    /// The same for every command of a process, so it is compiled once in it.
    pub fn of(network: NetworkAccess, inmate: CageOccupant) -> &'static Self {
        static FILTERS: [OnceLock<SeccompFilter>; 4] = [const { OnceLock::new() }; 4];
        let filter = match (network, inmate) {
            (NetworkAccess::Denied, CageOccupant::Command) => &FILTERS[0],
            (NetworkAccess::Allowed, CageOccupant::Command) => &FILTERS[1],
            (NetworkAccess::Denied, CageOccupant::Worker) => &FILTERS[2],
            (NetworkAccess::Allowed, CageOccupant::Worker) => &FILTERS[3],
        };
        filter.get_or_init(|| Self {
            reporting: compile(network, inmate, ListenerPresence::Yes),
            silent: compile(network, inmate, ListenerPresence::No),
        })
    }

    /// Holds the calling thread, and what it starts, to the filter, for good. Returns where the
    /// kernel reports calls that are evidence, unless somebody further out listens already.
    pub fn apply(&self) -> io::Result<Option<OwnedFd>> {
        let listen = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
        // A call that is being answered should not be interrupted by a signal, if the kernel can.
        for flags in [
            listen | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
            listen,
        ] {
            if let Ok(listener) = install(&self.reporting, flags) {
                // SAFETY: the call has just made this descriptor.
                return Ok(Some(unsafe { OwnedFd::from_raw_fd(listener) }));
            }
        }
        install(&self.silent, 0)?;
        Ok(None)
    }
}

fn compile(
    network: NetworkAccess,
    inmate: CageOccupant,
    listening: ListenerPresence,
) -> Vec<sock_filter> {
    let mut rules = SeccompRules::default();
    for &call in calls::REFUSED {
        rules.add(call, CallCondition::Always, errno(libc::EPERM));
    }
    let told = match listening {
        ListenerPresence::Yes => libc::SECCOMP_RET_USER_NOTIF,
        ListenerPresence::No => errno(libc::EPERM),
    };
    for &(call, _) in calls::REFUSED_AND_TOLD {
        rules.add(call, CallCondition::Always, told);
    }
    let namespaces = CallCondition::HasAny {
        argument: 0,
        bits: NEW_NAMESPACES,
    };
    rules.add(libc::SYS_clone, namespaces, told);
    // clone3 hides its flags behind a pointer. "Not implemented" sends libc back to clone.
    rules.add(libc::SYS_clone3, CallCondition::Always, errno(libc::ENOSYS));
    // So does openat2, which would make files unseen; programs make do without it.
    if inmate == CageOccupant::Command {
        rules.add(
            libc::SYS_openat2,
            CallCondition::Always,
            errno(libc::ENOSYS),
        );
    }
    if geteuid().is_root() {
        refuse_set_id(&mut rules, told);
    }
    for value in [TIOCSTI, TIOCLINUX] {
        let injection = CallCondition::Equals { argument: 1, value };
        rules.add(libc::SYS_ioctl, injection, errno(libc::EPERM));
    }
    if network == NetworkAccess::Denied {
        refuse_sockets(&mut rules, told);
    }
    if listening == ListenerPresence::Yes {
        for write in calls::WRITES {
            let when = match write.flags {
                Some(argument) => CallCondition::HasAny {
                    argument,
                    bits: calls::WRITING_FLAGS,
                },
                None => CallCondition::Always,
            };
            rules.add(write.call, when, told);
        }
    }
    assemble(rules)
}

/// Refuses to make files that give whoever executes them the rights of root: they lie in a writable
/// root, where others may reach them outside of the sandbox, in which they mean nothing.
fn refuse_set_id(rules: &mut SeccompRules, told: u32) {
    for call in calls::MODE_SETTERS {
        let mode = ArgumentBits {
            argument: call.mode,
            bits: calls::SET_ID_BITS,
        };
        let when = match call.flags {
            Some(argument) => {
                let bits = calls::CREATING_FLAGS;
                CallCondition::HasAnyOfBoth(ArgumentBits { argument, bits }, mode)
            }
            None => CallCondition::HasAny {
                argument: mode.argument,
                bits: mode.bits,
            },
        };
        rules.add(call.call, when, told);
    }
}

/// Refuses every family but Unix. Netlink only asks about the network, which programs do that
/// have no need of it.
fn refuse_sockets(rules: &mut SeccompRules, told: u32) {
    let netlink = CallCondition::Equals {
        argument: 0,
        value: libc::AF_NETLINK.cast_unsigned(),
    };
    rules.add(libc::SYS_socket, netlink, errno(libc::EPERM));
    let other_than_unix = CallCondition::Differs {
        argument: 0,
        value: libc::AF_UNIX.cast_unsigned(),
    };
    rules.add(libc::SYS_socket, other_than_unix, told);
}

fn install(program: &[sock_filter], flags: libc::c_ulong) -> io::Result<RawFd> {
    let program = libc::sock_fprog {
        len: u16::try_from(program.len()).map_err(io::Error::other)?,
        filter: program.as_ptr().cast_mut(),
    };
    // SAFETY: the program is live during the call, which copies it.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            flags,
            &raw const program,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    RawFd::try_from(result).map_err(io::Error::other)
}

/// Asks the kernel whether it knows filters that answer with an error.
pub(crate) fn is_available() -> bool {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the operation only reads the action.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_GET_ACTION_AVAIL,
            0,
            &raw const action,
        )
    };
    result == 0
}

pub(super) const fn errno(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()
}
