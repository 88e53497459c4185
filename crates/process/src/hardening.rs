//! Keeps the engine's memory, which holds provider keys, to itself.

use std::io;

use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Forbids core dumps of the calling process and, in release builds, that others of the same user
/// read its memory or attach a debugger. Commands are unaffected: a holder starts afresh.
pub fn harden_engine() -> io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_CORE)?;
    setrlimit(Resource::RLIMIT_CORE, 0, hard)?;
    if !cfg!(debug_assertions) {
        prctl::set_dumpable(false)?;
    }
    Ok(())
}
