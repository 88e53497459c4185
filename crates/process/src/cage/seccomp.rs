//! seccomp: system calls that no confined command needs, and sockets when the network is off.
//!
//! The filter is assembled here, because a rule needs one of several answers (not permitted, not
//! implemented), and because the kernel remembers per call number that a filter always allows
//! it, so that everything not listed costs nothing.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use libc::sock_filter;

use super::calls;
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

/// When a call is caught. Arguments are compared by their low 32 bits, which is all that the
/// kernel looks at for those used here.
#[derive(Debug, Clone, Copy)]
enum When {
    Always,
    Equals { argument: u8, value: u32 },
    Differs { argument: u8, value: u32 },
    HasAny { argument: u8, bits: u32 },
}

/// Whether somebody listens for calls that are evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listening {
    Yes,
    No,
}

/// The filter of one policy, compiled for a kernel that reports calls and for one that does not.
#[derive(Debug, Clone)]
pub(crate) struct Filter {
    reporting: Vec<sock_filter>,
    silent: Vec<sock_filter>,
}

impl Filter {
    pub fn new(network: NetworkAccess) -> Self {
        Self {
            reporting: compile(network, Listening::Yes),
            silent: compile(network, Listening::No),
        }
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

fn compile(network: NetworkAccess, listening: Listening) -> Vec<sock_filter> {
    let mut program = Assembler::new();
    for &call in calls::REFUSED {
        program.rule(call, When::Always, errno(libc::EPERM));
    }
    let told = match listening {
        Listening::Yes => libc::SECCOMP_RET_USER_NOTIF,
        Listening::No => errno(libc::EPERM),
    };
    for &(call, _) in calls::REFUSED_AND_TOLD {
        program.rule(call, When::Always, told);
    }
    let namespaces = When::HasAny {
        argument: 0,
        bits: NEW_NAMESPACES,
    };
    program.rule(libc::SYS_clone, namespaces, told);
    // clone3 hides its flags behind a pointer. "Not implemented" sends libc back to clone.
    program.rule(libc::SYS_clone3, When::Always, errno(libc::ENOSYS));
    for value in [TIOCSTI, TIOCLINUX] {
        let injection = When::Equals { argument: 1, value };
        program.rule(libc::SYS_ioctl, injection, errno(libc::EPERM));
    }
    if network == NetworkAccess::Denied {
        refuse_sockets(&mut program, told);
    }
    if listening == Listening::Yes {
        for write in calls::WRITES {
            let when = match write.flags {
                Some(argument) => When::HasAny {
                    argument,
                    bits: calls::WRITING_FLAGS,
                },
                None => When::Always,
            };
            program.rule(write.call, when, told);
        }
    }
    program.finish()
}

/// Refuses every family but Unix. Netlink only asks about the network, which programs do that
/// have no need of it.
fn refuse_sockets(program: &mut Assembler, told: u32) {
    let netlink = When::Equals {
        argument: 0,
        value: libc::AF_NETLINK.cast_unsigned(),
    };
    program.rule(libc::SYS_socket, netlink, errno(libc::EPERM));
    let other_than_unix = When::Differs {
        argument: 0,
        value: libc::AF_UNIX.cast_unsigned(),
    };
    program.rule(libc::SYS_socket, other_than_unix, told);
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

const fn errno(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()
}

#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xc000_00b7;

/// Call numbers from here on belong to the x32 interface, whose numbers no rule names.
const X32_CALLS: u32 = 0x4000_0000;

/// Offsets in `struct seccomp_data`.
const CALL_NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_AT_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const IF_ANY_BIT: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const ANSWER: u32 = libc::BPF_RET | libc::BPF_K;

/// Writes rules one after the other; each expects the call number loaded and leaves it so.
struct Assembler(Vec<sock_filter>);

impl Assembler {
    fn new() -> Self {
        let mut assembler = Self(Vec::new());
        assembler.load(ARCHITECTURE);
        assembler.branch(IF_EQUAL, AUDIT_ARCH, 1, 0);
        assembler.answer(libc::SECCOMP_RET_KILL_PROCESS);
        assembler.load(CALL_NUMBER);
        assembler.branch(IF_AT_LEAST, X32_CALLS, 0, 1);
        assembler.answer(errno(libc::ENOSYS));
        assembler
    }

    fn rule(&mut self, call: libc::c_long, when: When, answer: u32) {
        let call = u32::try_from(call).expect("call numbers are small and positive");
        let (argument, test, value, (then, otherwise)) = match when {
            When::Always => {
                self.branch(IF_EQUAL, call, 0, 1);
                return self.answer(answer);
            }
            When::Equals { argument, value } => (argument, IF_EQUAL, value, (0, 1)),
            When::Differs { argument, value } => (argument, IF_EQUAL, value, (1, 0)),
            When::HasAny { argument, bits } => (argument, IF_ANY_BIT, bits, (0, 1)),
        };
        self.branch(IF_EQUAL, call, 0, 4);
        self.load(ARGUMENTS + 8 * u32::from(argument));
        self.branch(test, value, then, otherwise);
        self.answer(answer);
        self.load(CALL_NUMBER);
    }

    fn finish(mut self) -> Vec<sock_filter> {
        self.answer(libc::SECCOMP_RET_ALLOW);
        self.0
    }

    fn load(&mut self, offset: u32) {
        self.push(LOAD, 0, 0, offset);
    }

    /// Skips `then` instructions if the test holds, `otherwise` if it does not.
    fn branch(&mut self, test: u32, value: u32, then: u8, otherwise: u8) {
        self.push(test, then, otherwise, value);
    }

    fn answer(&mut self, value: u32) {
        self.push(ANSWER, 0, 0, value);
    }

    fn push(&mut self, code: u32, jt: u8, jf: u8, k: u32) {
        let code = u16::try_from(code).expect("instruction codes have 16 bits");
        self.0.push(sock_filter { code, jt, jf, k });
    }
}
