//! Descriptors that the runtime waits for.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::unix::AsyncFd;

pub(crate) type Pollable = AsyncFd<OwnedFd>;

/// Registers a descriptor with the current runtime.
pub(crate) fn pollable(file: OwnedFd) -> io::Result<Pollable> {
    // SAFETY: an owned descriptor stays open, and the same, until the result is dropped.
    Ok(unsafe { AsyncFd::register(file) }?)
}
