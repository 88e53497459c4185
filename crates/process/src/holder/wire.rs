//! The messages between engine, holder and keeper.
//!
//! Each is one [packet] of a `SOCK_SEQPACKET` socket.

mod packet;

use std::collections::BTreeMap;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixCredentials, recv,
    recvmsg, send, setsockopt, socketpair, sockopt,
};
use serde::{Deserialize, Serialize};

use self::packet::ReceivedPacket;
use crate::cage::Cage;
use crate::limits::MESSAGE_BYTES_MAX;

/// What a holder shall be, told before anything else.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum HolderSetup {
    /// Commands share everything with the engine but what their own cage takes.
    Bare,
    /// Commands live in namespaces made for this cage.
    Namespaces(Cage),
}

/// A holder's answer to its [`HolderSetup`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum SetupReply {
    Ready,
    Failed { step: String, errno: i32 },
}

/// One command for a keeper to start.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CommandRequest {
    pub argv: Vec<String>,
    pub image: CommandImage,
    pub cwd: PathBuf,
    pub env: BTreeMap<String, String>,
    pub cage: Option<Cage>,
    pub terminal: TerminalUse,
}

/// What the first argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CommandImage {
    /// A program to be executed.
    Program,
    /// A [worker](crate::Worker) of this program.
    Worker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TerminalUse {
    None,
    /// Stdin is the terminal that shall control the command's session.
    Controlling,
}

/// What a command reads and writes.
#[derive(Debug)]
pub(crate) struct StdioDescriptors {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// A request as it arrives at a keeper.
#[derive(Debug)]
pub(super) struct ReceivedRequest {
    pub request: CommandRequest,
    pub descriptors: StdioDescriptors,
}

/// What a keeper tells the engine.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum KeeperReport {
    /// Said by the command's process itself, before exec: the sender is its process id.
    Born,
    Started,
    Failed {
        stage: StartStage,
        errno: i32,
    },
    Exited(ExitRecord),
}

/// How far a command got that could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StartStage {
    WorkingDirectory,
    Sandbox,
    Execute,
}

/// The end of the command itself; processes that it left behind may go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExitRecord {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub wall_us: u64,
    pub cpu_us: u64,
    pub memory_peak_bytes: u64,
    pub left_behind: bool,
    /// What it tried and was refused, as far as it was seen.
    pub denials: Vec<String>,
    /// Something that it had made was moved aside.
    pub moved_aside: bool,
    /// It may have changed the file system.
    pub has_written: bool,
}

/// What the engine tells a keeper. The end of the socket means [`KeeperOrder::Kill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum KeeperOrder {
    /// SIGINT to the command's process group, as ctrl-C would do it.
    Interrupt = b'I',
    /// SIGTERM to every process of the tree.
    Terminate = b'T',
    /// SIGKILL to every process of the tree until none is left.
    Kill = b'K',
}

impl KeeperOrder {
    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Interrupt, Self::Terminate, Self::Kill]
            .into_iter()
            .find(|order| *order as u8 == byte)
    }
}

/// A pair of connected packet sockets.
pub(super) fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC;
    Ok(socketpair(
        AddressFamily::Unix,
        SockType::SeqPacket,
        None,
        flags,
    )?)
}

/// The engine's and the keeper's end of a control socket. At the engine's, every report comes
/// with the process id of its sender, translated by the kernel from the sender's namespace.
pub(super) fn control_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) = socket_pair()?;
    setsockopt(&ours, sockopt::PassCred, &true)?;
    Ok((ours, theirs))
}

pub(super) fn send_setup(socket: BorrowedFd, setup: &HolderSetup) -> io::Result<()> {
    packet::send_text(socket, setup, &[])
}

pub(super) fn receive_setup(socket: BorrowedFd) -> io::Result<Option<HolderSetup>> {
    packet::receive(socket)?
        .map(ReceivedPacket::read)
        .transpose()
}

pub(super) fn send_reply(socket: BorrowedFd, reply: &SetupReply) -> io::Result<()> {
    send_message(socket, reply)
}

/// Takes the holder's answer, which must have arrived.
pub(super) fn receive_reply(socket: BorrowedFd) -> io::Result<SetupReply> {
    let mut json = [0_u8; MESSAGE_BYTES_MAX];
    match recv(socket.as_raw_fd(), &mut json, MsgFlags::MSG_DONTWAIT)? {
        0 => Err(io::ErrorKind::BrokenPipe.into()),
        length => Ok(serde_json::from_slice(&json[..length])?),
    }
}

/// Asks a holder for a keeper at the other end of a control socket, without waiting;
/// [`io::ErrorKind::WouldBlock`] when the holder is behind.
pub(super) fn send_control(socket: BorrowedFd, control: BorrowedFd) -> io::Result<()> {
    packet::send_descriptors(socket, &[control.as_raw_fd()])
}

/// Waits until a keeper is asked for; `None` when the engine has closed its end.
pub(super) fn receive_control(socket: BorrowedFd) -> io::Result<Option<OwnedFd>> {
    let Some(packet) = packet::receive(socket)? else {
        return Ok(None);
    };
    let [control] = exactly(packet.descriptors)?;
    Ok(Some(control))
}

/// Gives a command to a keeper that has none.
pub(super) fn send_request(
    control: BorrowedFd,
    request: &CommandRequest,
    descriptors: &StdioDescriptors,
) -> io::Result<()> {
    let StdioDescriptors {
        stdin,
        stdout,
        stderr,
    } = descriptors;
    let raw = [stdin, stdout, stderr].map(AsRawFd::as_raw_fd);
    packet::send_text(control, request, &raw)
}

/// Waits for the next request; `None` when the engine has closed its end. Orders that come
/// meanwhile were meant for a command that has ended.
pub(super) fn receive_request(control: BorrowedFd) -> io::Result<Option<ReceivedRequest>> {
    loop {
        let Some(mut packet) = packet::receive(control)? else {
            return Ok(None);
        };
        if packet.descriptors.is_empty() {
            continue;
        }
        let rest = packet
            .descriptors
            .split_off(3.min(packet.descriptors.len()));
        let [stdin, stdout, stderr] = exactly(std::mem::replace(&mut packet.descriptors, rest))?;
        return Ok(Some(ReceivedRequest {
            request: packet.read()?,
            descriptors: StdioDescriptors {
                stdin,
                stdout,
                stderr,
            },
        }));
    }
}

fn exactly<const N: usize>(descriptors: Vec<OwnedFd>) -> io::Result<[OwnedFd; N]> {
    descriptors
        .try_into()
        .map_err(|_| io::Error::other("a message came without its descriptors"))
}

pub(super) fn send_report(socket: BorrowedFd, report: &KeeperReport) -> io::Result<()> {
    send_message(socket, report)
}

/// Takes the next report without waiting, with the process id of its sender; `None` when the
/// keeper has ended.
pub(super) fn receive_report(socket: BorrowedFd) -> io::Result<Option<(KeeperReport, u32)>> {
    let mut json = [0_u8; MESSAGE_BYTES_MAX];
    let mut slices = [IoSliceMut::new(&mut json)];
    let mut space = nix::cmsg_space!(UnixCredentials);
    let flags = MsgFlags::MSG_DONTWAIT;
    let message = match recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut space), flags) {
        Ok(message) => message,
        // A keeper that ends with an order unread resets the socket instead of closing it.
        Err(nix::Error::ECONNRESET) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let mut sender = 0;
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmCredentials(credentials) = control {
            sender = credentials.pid().cast_unsigned();
        }
    }
    let length = message.bytes;
    if length == 0 {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&json[..length])?, sender)))
}

pub(super) fn send_order(socket: BorrowedFd, order: KeeperOrder) -> io::Result<()> {
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    send(socket.as_raw_fd(), &[order as u8], flags)?;
    Ok(())
}

/// Takes an order that has arrived. Whatever cannot be understood ends the command.
pub(super) fn receive_order(socket: impl AsFd) -> KeeperOrder {
    let mut byte = [0_u8; 1];
    match recv(socket.as_fd().as_raw_fd(), &mut byte, MsgFlags::empty()) {
        Ok(1) => KeeperOrder::from_byte(byte[0]).unwrap_or(KeeperOrder::Kill),
        Ok(_) | Err(_) => KeeperOrder::Kill,
    }
}

/// What a child tells its keeper before it becomes the command.
pub(super) enum ChildReport {
    /// Where the kernel will report what the command tries.
    Listener(OwnedFd),
    Failed {
        stage: StartStage,
        errno: i32,
    },
}

pub(super) fn send_listener(socket: BorrowedFd, listener: BorrowedFd) -> io::Result<()> {
    packet::send_descriptors(socket, &[listener.as_raw_fd()])
}

/// Waits for a child's next word; `None` when it has become the command.
pub(super) fn receive_word(socket: BorrowedFd) -> io::Result<Option<ChildReport>> {
    let Some(mut packet) = packet::receive(socket)? else {
        return Ok(None);
    };
    if let Some(listener) = packet.descriptors.pop() {
        return Ok(Some(ChildReport::Listener(listener)));
    }
    match packet.read()? {
        KeeperReport::Failed { stage, errno } => Ok(Some(ChildReport::Failed { stage, errno })),
        KeeperReport::Born | KeeperReport::Started | KeeperReport::Exited(_) => {
            Err(io::ErrorKind::InvalidData.into())
        }
    }
}

fn send_message(socket: BorrowedFd, message: &impl Serialize) -> io::Result<()> {
    let json = serde_json::to_vec(message)?;
    send(socket.as_raw_fd(), &json, MsgFlags::MSG_NOSIGNAL)?;
    Ok(())
}
