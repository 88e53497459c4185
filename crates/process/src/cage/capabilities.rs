//! Takes from a command that runs as root what root does not need to work on files.
//!
//! `no_new_privs` keeps exec from giving any of it back, so the bounding set need not change.

use std::io;

/// CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, FSETID, SETGID, SETUID. Where files may be
/// written is decided by mounts and Landlock; without these, root could not even work in a
/// directory that belongs to somebody else. Never MKNOD, KILL, SYS_*, NET_*.
const KEPT: u32 = 0b1101_1111;

/// `_LINUX_CAPABILITY_VERSION_3`: two 32-bit words per set.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct CapabilityHeader {
    version: u32,
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapabilitySets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

pub(super) fn drop_dangerous() -> io::Result<()> {
    let header = CapabilityHeader {
        version: VERSION,
        pid: 0,
    };
    let mut sets = [CapabilitySets::default(); 2];
    // SAFETY: header and sets are live, of the layout that version 3 of the call expects.
    if unsafe { libc::syscall(libc::SYS_capget, &raw const header, sets.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let [low, high] = &mut sets;
    low.permitted &= KEPT;
    low.effective &= KEPT;
    low.inheritable = 0;
    *high = CapabilitySets::default();
    // SAFETY: as above; the call only reads them.
    if unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
