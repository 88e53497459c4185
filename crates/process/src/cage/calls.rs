//! The system calls that a confined command cannot make, and those that are watched.

use libc::c_long;

/// Refused without a word: programs try these and do without. Grouped by what they would get
/// around.
pub(super) const REFUSED: &[c_long] = &[
    // The memory and descriptors of other processes.
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_userfaultfd,
    // A second way to make system calls, which no filter sees.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Keys of the user's session.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Other views of the file system.
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_by_handle_at,
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

/// Refused, and told: whoever makes one of these means it, and fails without it.
pub(crate) const REFUSED_AND_TOLD: &[(c_long, &str)] = &[
    (libc::SYS_ptrace, "ptrace"),
    (libc::SYS_process_vm_readv, "process_vm_readv"),
    (libc::SYS_process_vm_writev, "process_vm_writev"),
    (libc::SYS_perf_event_open, "perf_event_open"),
    (libc::SYS_bpf, "bpf"),
    (libc::SYS_mount, "mount"),
    (libc::SYS_umount2, "umount"),
    (libc::SYS_move_mount, "move_mount"),
    (libc::SYS_pivot_root, "pivot_root"),
    (libc::SYS_chroot, "chroot"),
    (libc::SYS_unshare, "unshare"),
    (libc::SYS_setns, "setns"),
];

/// A call that gives a file its mode.
#[derive(Debug)]
pub(crate) struct ModeSetter {
    pub call: c_long,
    pub mode: u8,
    /// The argument with flags of `open`, which has a mode only if it creates.
    pub flags: Option<u8>,
}

impl ModeSetter {
    /// Says whether the call would make a file that is executed with the rights of its owner or
    /// group. These are numbers in registers, which nobody changes meanwhile.
    pub fn sets_id(&self, arguments: &[u64; 6]) -> bool {
        let has = |argument: u8, bits: u32| arguments[usize::from(argument)] & u64::from(bits) != 0;
        let creates = self.flags.is_none_or(|flags| has(flags, CREATING_FLAGS));
        creates && has(self.mode, SET_ID_BITS)
    }
}

pub(crate) const SET_ID_BITS: u32 = libc::S_ISUID | libc::S_ISGID;

/// The second without the part that it has in common with `O_DIRECTORY`.
pub(super) const CREATING_FLAGS: u32 =
    (libc::O_CREAT | (libc::O_TMPFILE & !libc::O_DIRECTORY)).cast_unsigned();

const fn mode(call: c_long, mode: u8) -> ModeSetter {
    ModeSetter {
        call,
        mode,
        flags: None,
    }
}

pub(crate) const MODE_SETTERS: &[ModeSetter] = &[
    mode(libc::SYS_fchmod, 1),
    mode(libc::SYS_fchmodat, 2),
    mode(libc::SYS_fchmodat2, 2),
    mode(libc::SYS_mknodat, 2),
    ModeSetter {
        flags: Some(2),
        ..mode(libc::SYS_openat, 3)
    },
    #[cfg(target_arch = "x86_64")]
    mode(libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    mode(libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    mode(libc::SYS_mknod, 1),
    #[cfg(target_arch = "x86_64")]
    ModeSetter {
        flags: Some(1),
        ..mode(libc::SYS_open, 2)
    },
];

/// A call that writes to the file system. It goes on as if unseen, and mounts and Landlock decide;
/// but a path that they must refuse is evidence.
#[derive(Debug)]
pub(crate) struct WriteCall {
    pub call: c_long,
    /// The argument with flags of `open`, of which some must be there for it to write.
    pub flags: Option<u8>,
    /// Where the paths are that it changes.
    pub paths: &'static [PathArgument],
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct PathArgument {
    /// The argument with the directory that a relative path starts from; else the current one.
    pub directory: Option<u8>,
    pub path: u8,
}

pub(super) const WRITING_FLAGS: u32 =
    (libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC).cast_unsigned();

const fn at(directory: u8, path: u8) -> PathArgument {
    PathArgument {
        directory: Some(directory),
        path,
    }
}

const fn write(call: c_long, paths: &'static [PathArgument]) -> WriteCall {
    WriteCall {
        call,
        flags: None,
        paths,
    }
}

pub(crate) const WRITES: &[WriteCall] = &[
    WriteCall {
        flags: Some(2),
        ..write(libc::SYS_openat, &[at(0, 1)])
    },
    write(libc::SYS_mkdirat, &[at(0, 1)]),
    write(libc::SYS_unlinkat, &[at(0, 1)]),
    write(libc::SYS_renameat, &[at(0, 1), at(2, 3)]),
    write(libc::SYS_renameat2, &[at(0, 1), at(2, 3)]),
    write(libc::SYS_linkat, &[at(2, 3)]),
    write(libc::SYS_symlinkat, &[at(1, 2)]),
    write(libc::SYS_mknodat, &[at(0, 1)]),
    write(libc::SYS_truncate, &[here(0)]),
    write(libc::SYS_fchmodat, &[at(0, 1)]),
    #[cfg(target_arch = "x86_64")]
    WriteCall {
        flags: Some(1),
        ..write(libc::SYS_open, &[here(0)])
    },
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_creat, &[here(0)]),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_mkdir, &[here(0)]),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_mknod, &[here(0)]),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_rmdir, &[here(0)]),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_unlink, &[here(0)]),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_rename, &[here(0), here(1)]),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_link, &[here(1)]),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_symlink, &[here(1)]),
    #[cfg(target_arch = "x86_64")]
    write(libc::SYS_chmod, &[here(0)]),
];

const fn here(path: u8) -> PathArgument {
    PathArgument {
        directory: None,
        path,
    }
}
