//! Standard output and error, written without holding up the session.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::limits::WRITE_AT_ONCE_BYTES_MAX;

/// Writes all bytes. What the reader has room for is written at once; only a slow one is waited
/// for, by a thread that costs more than the writing.
pub async fn write(
    stream: &mut (impl AsyncWrite + AsFd + Unpin),
    mut bytes: &[u8],
) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    if bytes.len() <= WRITE_AT_ONCE_BYTES_MAX && has_room(&*stream) {
        match write_now(&*stream, bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if is_for_later(&error) => {}
            Err(error) => return Err(error),
        }
    }
    if bytes.is_empty() {
        return Ok(());
    }
    stream.write_all(bytes).await?;
    stream.flush().await
}

fn has_room(stream: &impl AsFd) -> bool {
    let mut ready = libc::pollfd {
        fd: stream.as_fd().as_raw_fd(),
        events: libc::POLLOUT,
        revents: 0,
    };
    // SAFETY: the one entry is live; without a time limit the call returns at once.
    let polled = unsafe { libc::poll(&raw mut ready, 1, 0) };
    polled == 1 && ready.revents & libc::POLLOUT != 0
}

fn write_now(stream: &impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let file = stream.as_fd().as_raw_fd();
    // SAFETY: the bytes are live; the call only reads them.
    let written = unsafe { libc::write(file, bytes.as_ptr().cast(), bytes.len()) };
    usize::try_from(written).map_err(|_| io::Error::last_os_error())
}

fn is_for_later(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, WouldBlock};
    matches!(error.kind(), Interrupted | WouldBlock)
}
