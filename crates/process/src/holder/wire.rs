//! The messages between engine, holder and keeper.
//!
//! Each is one packet of a `SOCK_SEQPACKET` socket. A request's text can be larger than a packet
//! may be, so it travels in a memory file beside the command's descriptors.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::PathBuf;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType,
    UnixCredentials, recv, recvmsg, send, sendmsg, setsockopt, socketpair, sockopt,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cage::Cage;
use crate::limits::{MESSAGE_BYTES_MAX, REQUEST_BYTES_MAX};

/// The longest of the messages that have no room of their own: a child's failure.
const SHORT_BYTES_MAX: usize = 128;

/// Those of a request: its text, stdin, stdout and stderr.
const DESCRIPTORS_MAX: usize = 4;

/// What a holder shall be, told before anything else.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Setup {
    /// Commands share everything with the engine but what their own cage takes.
    Bare,
    /// Commands live in namespaces made for this cage.
    Namespaces(Cage),
}

/// A holder's answer to its [`Setup`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum SetupReply {
    Ready,
    Failed { step: String, errno: i32 },
}

/// One command for a keeper to start.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub argv: Vec<String>,
    pub image: Image,
    pub cwd: PathBuf,
    pub env: BTreeMap<String, String>,
    pub cage: Option<Cage>,
    pub terminal: TerminalUse,
}

/// What the first argument names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Image {
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
pub(crate) struct Descriptors {
    pub stdin: OwnedFd,
    pub stdout: OwnedFd,
    pub stderr: OwnedFd,
}

/// A request as it arrives at a keeper.
#[derive(Debug)]
pub(super) struct Received {
    pub request: Request,
    pub descriptors: Descriptors,
}

/// What a keeper tells the engine.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// Said by the command's process itself, before exec: the sender is its process id.
    Born,
    Started,
    Failed {
        stage: Stage,
        errno: i32,
    },
    Exited(ExitRecord),
}

/// How far a command got that could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
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
}

/// What the engine tells a keeper. The end of the socket means [`Order::Kill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Order {
    /// SIGINT to the command's process group, as ctrl-C would do it.
    Interrupt = b'I',
    /// SIGTERM to every process of the tree.
    Terminate = b'T',
    /// SIGKILL to every process of the tree until none is left.
    Kill = b'K',
}

impl Order {
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

pub(super) fn send_setup(socket: BorrowedFd, setup: &Setup) -> io::Result<()> {
    let text = text_file(setup)?;
    send_descriptors(socket, &[text.as_raw_fd()])
}

pub(super) fn receive_setup(socket: BorrowedFd) -> io::Result<Option<Setup>> {
    match receive_descriptors::<1>(socket)? {
        Some([text]) => Ok(Some(read_text(text)?)),
        None => Ok(None),
    }
}

pub(super) fn send_reply(socket: BorrowedFd, reply: &SetupReply) -> io::Result<()> {
    send_packet(socket, reply)
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
    send_descriptors(socket, &[control.as_raw_fd()])
}

/// Waits until a keeper is asked for; `None` when the engine has closed its end.
pub(super) fn receive_control(socket: BorrowedFd) -> io::Result<Option<OwnedFd>> {
    Ok(receive_descriptors(socket)?.map(|[control]| control))
}

/// Gives a command to a keeper that has none.
pub(super) fn send_request(
    control: BorrowedFd,
    request: &Request,
    descriptors: &Descriptors,
) -> io::Result<()> {
    let text = text_file(request)?;
    let Descriptors {
        stdin,
        stdout,
        stderr,
    } = descriptors;
    let raw = [
        text.as_raw_fd(),
        stdin.as_raw_fd(),
        stdout.as_raw_fd(),
        stderr.as_raw_fd(),
    ];
    send_descriptors(control, &raw)
}

/// Waits for the next request; `None` when the engine has closed its end. Orders that come
/// meanwhile were meant for a command that has ended.
pub(super) fn receive_request(control: BorrowedFd) -> io::Result<Option<Received>> {
    loop {
        let Some(packet) = receive_packet(control)? else {
            return Ok(None);
        };
        if packet.descriptors.is_empty() {
            continue;
        }
        let [text, stdin, stdout, stderr] = exactly(packet.descriptors)?;
        return Ok(Some(Received {
            request: read_text(text)?,
            descriptors: Descriptors {
                stdin,
                stdout,
                stderr,
            },
        }));
    }
}

pub(super) fn send_report(socket: BorrowedFd, report: &Report) -> io::Result<()> {
    send_packet(socket, report)
}

/// Takes the next report without waiting, with the process id of its sender; `None` when the
/// keeper has ended.
pub(super) fn receive_report(socket: BorrowedFd) -> io::Result<Option<(Report, u32)>> {
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

pub(super) fn send_order(socket: BorrowedFd, order: Order) -> io::Result<()> {
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    send(socket.as_raw_fd(), &[order as u8], flags)?;
    Ok(())
}

/// Takes an order that has arrived. Whatever cannot be understood ends the command.
pub(super) fn receive_order(socket: impl AsFd) -> Order {
    let mut byte = [0_u8; 1];
    match recv(socket.as_fd().as_raw_fd(), &mut byte, MsgFlags::empty()) {
        Ok(1) => Order::from_byte(byte[0]).unwrap_or(Order::Kill),
        Ok(_) | Err(_) => Order::Kill,
    }
}

/// What a child tells its keeper before it becomes the command.
pub(super) enum Word {
    /// Where the kernel will report what the command tries.
    Listener(OwnedFd),
    Failed {
        stage: Stage,
        errno: i32,
    },
}

pub(super) fn send_listener(socket: BorrowedFd, listener: BorrowedFd) -> io::Result<()> {
    send_descriptors(socket, &[listener.as_raw_fd()])
}

/// Waits for a child's next word; `None` when it has become the command.
pub(super) fn receive_word(socket: BorrowedFd) -> io::Result<Option<Word>> {
    let Some(mut packet) = receive_packet(socket)? else {
        return Ok(None);
    };
    if let Some(listener) = packet.descriptors.pop() {
        return Ok(Some(Word::Listener(listener)));
    }
    match serde_json::from_slice(packet.bytes())? {
        Report::Failed { stage, errno } => Ok(Some(Word::Failed { stage, errno })),
        Report::Born | Report::Started | Report::Exited(_) => {
            Err(io::ErrorKind::InvalidData.into())
        }
    }
}

/// Puts a message into a memory file.
fn text_file(message: &impl Serialize) -> io::Result<OwnedFd> {
    let json = serde_json::to_vec(message)?;
    if json.len() as u64 > REQUEST_BYTES_MAX {
        return Err(io::Error::from_raw_os_error(libc::E2BIG));
    }
    let mut file = File::from(memfd_create(c"message", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(&json)?;
    Ok(file.into())
}

fn read_text<T: DeserializeOwned>(text: OwnedFd) -> io::Result<T> {
    let mut file = File::from(text);
    file.rewind()?;
    let mut json = Vec::new();
    file.take(REQUEST_BYTES_MAX).read_to_end(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}

fn send_packet(socket: BorrowedFd, message: &impl Serialize) -> io::Result<()> {
    let json = serde_json::to_vec(message)?;
    send(socket.as_raw_fd(), &json, MsgFlags::MSG_NOSIGNAL)?;
    Ok(())
}

fn send_descriptors(socket: BorrowedFd, raw: &[RawFd]) -> io::Result<()> {
    let rights = [ControlMessage::ScmRights(raw)];
    let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
    sendmsg::<()>(
        socket.as_raw_fd(),
        &[IoSlice::new(b"D")],
        &rights,
        flags,
        None,
    )?;
    Ok(())
}

/// Waits for a packet of exactly so many descriptors; `None` when the other end is closed.
fn receive_descriptors<const N: usize>(socket: BorrowedFd) -> io::Result<Option<[OwnedFd; N]>> {
    receive_packet(socket)?
        .map(|packet| exactly(packet.descriptors))
        .transpose()
}

fn exactly<const N: usize>(descriptors: Vec<OwnedFd>) -> io::Result<[OwnedFd; N]> {
    descriptors
        .try_into()
        .map_err(|_| io::Error::other("a message came without its descriptors"))
}

/// A packet that carries descriptors or a few bytes.
struct Packet {
    descriptors: Vec<OwnedFd>,
    buffer: [u8; SHORT_BYTES_MAX],
    length: usize,
}

impl Packet {
    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }
}

/// Waits for a packet; `None` when the other end is closed.
fn receive_packet(socket: BorrowedFd) -> io::Result<Option<Packet>> {
    let mut buffer = [0_u8; SHORT_BYTES_MAX];
    let mut slices = [IoSliceMut::new(&mut buffer)];
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
    if length == 0 {
        return Ok(None);
    }
    Ok(Some(Packet {
        descriptors,
        buffer,
        length,
    }))
}
