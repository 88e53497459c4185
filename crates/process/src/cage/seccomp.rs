//! seccomp: system calls that no confined command needs, and sockets when the network is off.
//!
//! The filter is assembled here, because a rule needs one of several answers (not permitted, not
//! implemented), and because the kernel remembers per call number that a filter always allows
//! it, so that everything not listed costs nothing.

use std::io;

use libc::sock_filter;

use crate::roots::NetworkAccess;

/// Refused whatever their arguments are. Grouped by what they would get around.
const REFUSED: &[libc::c_long] = &[
    // The memory and descriptors of other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    // A second way to make system calls, which no filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    // Keys of the user's session.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Other views of the file system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_by_handle_at,
    libc::SYS_unshare,
    libc::SYS_setns,
    // The machine itself.
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

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

/// A compiled filter, to be applied to any number of processes.
#[derive(Debug, Clone)]
pub(crate) struct Filter(Vec<sock_filter>);

impl Filter {
    pub fn new(network: NetworkAccess) -> Self {
        let mut program = Assembler::new();
        for &call in REFUSED {
            program.rule(call, When::Always, errno(libc::EPERM));
        }
        let namespaces = When::HasAny {
            argument: 0,
            bits: NEW_NAMESPACES,
        };
        program.rule(libc::SYS_clone, namespaces, errno(libc::EPERM));
        // clone3 hides its flags behind a pointer. "Not implemented" sends libc back to clone.
        program.rule(libc::SYS_clone3, When::Always, errno(libc::ENOSYS));
        for value in [TIOCSTI, TIOCLINUX] {
            let injection = When::Equals { argument: 1, value };
            program.rule(libc::SYS_ioctl, injection, errno(libc::EPERM));
        }
        if network == NetworkAccess::Denied {
            let other_than_unix = When::Differs {
                argument: 0,
                value: libc::AF_UNIX.cast_unsigned(),
            };
            program.rule(libc::SYS_socket, other_than_unix, errno(libc::EPERM));
        }
        Self(program.finish())
    }

    /// Holds the calling thread, and what it starts, to the filter, for good.
    pub fn apply(&self) -> io::Result<()> {
        let program = libc::sock_fprog {
            len: u16::try_from(self.0.len()).map_err(io::Error::other)?,
            filter: self.0.as_ptr().cast_mut(),
        };
        // SAFETY: the program is live during the call, which copies it.
        let result = unsafe {
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                0,
                &raw const program,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
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
