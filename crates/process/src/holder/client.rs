//! The engine's end of a holder.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::poll::{PollFd, PollFlags, poll};

use super::startup::NAME;
use super::wire::{self, Descriptors, Request, Setup, SetupReply};
use crate::limits::START_WAIT_MS;
use crate::pollable::pollable;

/// A running holder. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Holder {
    /// Taken only by drop: the holder ends when it is closed.
    socket: Option<OwnedFd>,
    process: Option<Child>,
}

/// Why a holder is not as it should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HolderError {
    #[error("{step} failed: {source}")]
    Setup { step: String, source: io::Error },
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Holder {
    /// Starts a holder and waits until it is set up. Blocks for some milliseconds.
    pub fn start(setup: &Setup) -> Result<Self, HolderError> {
        let (ours, theirs) = wire::socket_pair()?;
        // The link stays valid when the file is replaced by an update while we run.
        let process = Command::new("/proc/self/exe")
            .arg0(NAME)
            .env_clear()
            .current_dir("/")
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let holder = Self {
            socket: Some(ours),
            process: Some(process),
        };
        wire::send_setup(holder.socket()?.as_fd(), setup)?;
        match holder.reply()? {
            SetupReply::Ready => Ok(holder),
            SetupReply::Failed { step, errno } => Err(HolderError::Setup {
                step,
                source: io::Error::from_raw_os_error(errno),
            }),
        }
    }

    /// Asks for a command; returns the engine's end of its control socket. Whether it started
    /// is told there.
    pub async fn request(&self, request: &Request, stdio: &Descriptors) -> io::Result<OwnedFd> {
        let text = wire::text_file(request)?;
        let (ours, theirs) = wire::control_pair()?;
        let socket = self.socket()?;
        loop {
            match wire::send_request(socket.as_fd(), text.as_fd(), theirs.as_fd(), stdio) {
                Ok(()) => return Ok(ours),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => writable(socket).await?,
                Err(error) => return Err(error),
            }
        }
    }

    fn reply(&self) -> io::Result<SetupReply> {
        let socket = self.socket()?.as_fd();
        let timeout = u16::try_from(START_WAIT_MS).unwrap_or(u16::MAX);
        match poll(&mut [PollFd::new(socket, PollFlags::POLLIN)], timeout)? {
            0 => Err(io::ErrorKind::TimedOut.into()),
            _ => wire::receive_reply(socket),
        }
    }

    fn socket(&self) -> io::Result<&OwnedFd> {
        self.socket.as_ref().ok_or(io::ErrorKind::BrokenPipe.into())
    }
}

impl Drop for Holder {
    /// Lets the holder end, which takes it as long as its last commands need to die, and reaps it.
    fn drop(&mut self) {
        self.socket = None;
        if let Some(mut process) = self.process.take() {
            let reaper = std::thread::Builder::new().name("reaper".to_owned());
            // Without a thread the holder ends all the same; only its entry stays until we end.
            let _ = reaper.spawn(move || process.wait());
        }
    }
}

/// Waits until the holder has taken requests. The descriptor is registered only for this wait,
/// so that a holder may serve several runtimes.
async fn writable(socket: &OwnedFd) -> io::Result<()> {
    let socket = pollable(socket.try_clone()?)?;
    socket.writable().await?.clear_ready();
    Ok(())
}
