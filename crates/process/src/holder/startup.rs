//! Start-up of a holder: how this program becomes one before `main`.
//!
//! The engine executes itself under the name [`NAME`]. The function below is called by the
//! dynamic loader before `main`, of whatever program this crate is linked into: no `main` can
//! forget it, nothing of the engine's start-up is paid for, and test programs can start commands
//! as the product does. In every other program it compares one string and returns.

use std::ffi::{CStr, c_char, c_int};
use std::os::fd::{FromRawFd, OwnedFd};

use super::server;

/// `argv[0]` of a holder, and what `ps` shows.
pub(super) const NAME: &str = "troupe-holder";

// SAFETY: the section holds pointers to functions with this signature; the loader calls each
// once, on the only thread there is.
#[used]
#[unsafe(link_section = ".init_array")]
static BECOME_HOLDER: extern "C" fn(c_int, *const *const c_char) = become_holder_if_named;

extern "C" fn become_holder_if_named(argc: c_int, argv: *const *const c_char) {
    if argc != 1 || argv.is_null() {
        return;
    }
    // SAFETY: with one argument, argv[0] is a string that ends with NUL.
    let name = unsafe { CStr::from_ptr(*argv) };
    if name.to_bytes() != NAME.as_bytes() {
        return;
    }
    // SAFETY: whoever starts a holder gives it the socket as stdin, and nothing else uses it.
    let socket = unsafe { OwnedFd::from_raw_fd(0) };
    let code = match server::serve(&socket) {
        Ok(()) => 0,
        Err(_) => 1,
    };
    // SAFETY: ends this process; there is nothing that would have to run before.
    unsafe { libc::_exit(code) }
}
