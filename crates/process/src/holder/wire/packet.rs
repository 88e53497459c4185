//! Packets with descriptors. A text that is too long for a packet travels in a memory file, as one
//! more descriptor.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::limits::{MESSAGE_BYTES_MAX, REQUEST_BYTES_MAX};

/// Stands for a text that is in the last descriptor, or for none. A packet cannot be empty: that
/// is the end of the socket.
const NO_TEXT: &[u8] = b"-";

/// The most that a message carries: those of a request, and its text.
const DESCRIPTORS_MAX: usize = 4;

/// A packet that has arrived.
pub(super) struct ReceivedPacket {
    bytes: Vec<u8>,
    pub descriptors: Vec<OwnedFd>,
}

impl ReceivedPacket {
    /// Returns the text, which may be in the last descriptor.
    pub fn read<T: DeserializeOwned>(mut self) -> io::Result<T> {
        if self.bytes != NO_TEXT {
            return Ok(serde_json::from_slice(&self.bytes)?);
        }
        let text = self.descriptors.pop();
        let mut file = File::from(text.ok_or(io::ErrorKind::InvalidData)?);
        file.rewind()?;
        let mut json = Vec::new();
        file.take(REQUEST_BYTES_MAX).read_to_end(&mut json)?;
        Ok(serde_json::from_slice(&json)?)
    }
}

/// Sends a message with descriptors, without waiting.
pub(super) fn send_text(
    socket: BorrowedFd,
    message: &impl Serialize,
    descriptors: &[RawFd],
) -> io::Result<()> {
    let json = serde_json::to_vec(message)?;
    if json.len() <= MESSAGE_BYTES_MAX {
        return send(socket, &json, descriptors);
    }
    if json.len() as u64 > REQUEST_BYTES_MAX {
        return Err(io::Error::from_raw_os_error(libc::E2BIG));
    }
    let mut text = File::from(memfd_create(c"message", MFdFlags::MFD_CLOEXEC)?);
    text.write_all(&json)?;
    send_descriptors(socket, &[descriptors, &[text.as_raw_fd()]].concat())
}

/// Sends descriptors alone, without waiting.
pub(super) fn send_descriptors(socket: BorrowedFd, descriptors: &[RawFd]) -> io::Result<()> {
    send(socket, NO_TEXT, descriptors)
}

fn send(socket: BorrowedFd, bytes: &[u8], descriptors: &[RawFd]) -> io::Result<()> {
    let rights = [ControlMessage::ScmRights(descriptors)];
    let rights = if descriptors.is_empty() {
        &[]
    } else {
        &rights[..]
    };
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    sendmsg::<()>(
        socket.as_raw_fd(),
        &[IoSlice::new(bytes)],
        rights,
        flags,
        None,
    )?;
    Ok(())
}

/// Waits for a packet; `None` when the other end is closed.
pub(super) fn receive(socket: BorrowedFd) -> io::Result<Option<ReceivedPacket>> {
    let mut bytes = vec![0; MESSAGE_BYTES_MAX];
    let mut slices = [IoSliceMut::new(&mut bytes)];
    let mut space = nix::cmsg_space!([RawFd; DESCRIPTORS_MAX]);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut space), flags)?;
    let mut descriptors = Vec::new();
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(raw) = control {
            // SAFETY: the kernel has just made these descriptors for this process.
            descriptors.extend(
                raw.into_iter()
                    .map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }),
            );
        }
    }
    let length = message.bytes;
    bytes.truncate(length);
    Ok((length > 0).then_some(ReceivedPacket { bytes, descriptors }))
}
