//! Descriptors that the runtime waits for.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use tokio::io::unix::AsyncFd;

pub(crate) type Pollable = AsyncFd<OwnedFd>;

/// Registers a descriptor with the current runtime.
pub(crate) fn pollable<T: AsRawFd>(file: T) -> io::Result<AsyncFd<T>> {
    // SAFETY: whatever owns a descriptor here keeps it open, and the same, until it is dropped.
    Ok(unsafe { AsyncFd::register(file) }?)
}
