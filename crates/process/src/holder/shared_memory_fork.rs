//! A new process that borrows this one's memory until it executes a program.
//!
//! Copying the page tables of a program only to throw them away at exec is most of what a fork
//! costs. Here the parent sleeps while the child runs on a stack of its own, and nothing is copied.
//! The child must not change what the parent goes on to use.

use std::ffi::{c_int, c_void};
use std::io;

use nix::unistd::Pid;

use crate::limits::CHILD_STACK_BYTES;

/// The smallest that can be protected on every machine that Linux knows.
const GUARD_BYTES: usize = 64 * 1024;

/// Where children run, one after the other.
pub(super) struct ChildStack(*mut c_void);

impl ChildStack {
    pub fn new() -> io::Result<Self> {
        let (access, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK,
        );
        // SAFETY: asks for new memory at a place of the kernel's choice.
        let bottom =
            unsafe { libc::mmap(std::ptr::null_mut(), CHILD_STACK_BYTES, access, kind, -1, 0) };
        if bottom == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let stack = Self(bottom);
        // A child that needs more shall die of it and not write into what lies below.
        // SAFETY: the page is the lowest of the mapping, which nothing uses yet.
        if unsafe { libc::mprotect(bottom, GUARD_BYTES, libc::PROT_NONE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(stack)
    }

    fn top(&self) -> *mut c_void {
        self.0.wrapping_byte_add(CHILD_STACK_BYTES)
    }
}

impl Drop for ChildStack {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and no child is on it: a parent goes on only
        // when its child has left. It cannot fail for a whole mapping.
        unsafe { libc::munmap(self.0, CHILD_STACK_BYTES) };
    }
}

/// Runs `child` in a new process; returns when it has executed a program or ended.
///
/// # Safety
///
/// The calling process must have a single thread. What `child` changes in memory stays changed.
pub(super) unsafe fn run_sharing_memory(
    stack: &ChildStack,
    child: &mut dyn FnMut(),
) -> io::Result<Pid> {
    extern "C" fn enter(argument: *mut c_void) -> c_int {
        // SAFETY: the parent sleeps in the call that was given this pointer.
        let child = unsafe { &mut *argument.cast::<&mut dyn FnMut()>() };
        child();
        1
    }
    let mut child = child;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is unused and large enough, the argument outlives the child's use of it.
    match unsafe { libc::clone(enter, stack.top(), flags, (&raw mut child).cast()) } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}
