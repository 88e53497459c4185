//! The engine's end of a holder.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nix::poll::{PollFd, PollFlags, poll};
use troupe_protocol::discard;

use super::startup::NAME;
use super::wire::{
    self, CommandRequest, HolderSetup, KeeperOrder, KeeperReport, SetupReply, StdioDescriptors,
};
use crate::limits::{KEEPERS_IDLE_MAX, START_WAIT_MS};
use crate::pollable::pollable;

/// A running holder. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Holder {
    /// Taken only by drop: the holder ends when it is closed.
    socket: Option<OwnedFd>,
    process: Option<Child>,
    /// Control sockets of keepers that wait for another command.
    idle: Mutex<Vec<OwnedFd>>,
}

/// A keeper with a command, by the engine's end of its control socket. Dropping it ends the
/// command, with everything that it started; if that has happened, the keeper goes back to its
/// holder.
#[derive(Debug)]
pub(crate) struct KeeperHandle {
    /// Taken only by drop.
    control: Option<OwnedFd>,
    holder: Arc<Holder>,
    is_alone: AtomicBool,
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
    pub fn start(setup: &HolderSetup) -> Result<Self, HolderError> {
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
            idle: Mutex::default(),
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

    /// Gives a command to a keeper. Whether it started is told on its socket.
    pub async fn request(
        self: &Arc<Self>,
        request: &CommandRequest,
        stdio: &StdioDescriptors,
    ) -> io::Result<KeeperHandle> {
        while let Some(control) = self.idle_keeper() {
            match wire::send_request(control.as_fd(), request, stdio) {
                Ok(()) => return Ok(self.keeper(control)),
                // Somebody has killed it.
                Err(error) if has_gone(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let control = self.request_keeper().await?;
        wire::send_request(control.as_fd(), request, stdio)?;
        Ok(self.keeper(control))
    }

    /// Asks for a new keeper; returns the engine's end of its control socket.
    async fn request_keeper(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = wire::control_pair()?;
        let socket = self.socket()?;
        loop {
            match wire::send_control(socket.as_fd(), theirs.as_fd()) {
                Ok(()) => return Ok(ours),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => writable(socket).await?,
                Err(error) => return Err(error),
            }
        }
    }

    fn keeper(self: &Arc<Self>, control: OwnedFd) -> KeeperHandle {
        KeeperHandle {
            control: Some(control),
            holder: Arc::clone(self),
            is_alone: AtomicBool::new(false),
        }
    }

    fn idle_keeper(&self) -> Option<OwnedFd> {
        // Each change is a single step, so a panic elsewhere leaves the list whole.
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop()
    }

    fn take_back(&self, control: OwnedFd) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEEPERS_IDLE_MAX {
            idle.push(control);
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
        tracing::debug!("a holder is let go");
        self.socket = None;
        if let Some(mut process) = self.process.take() {
            let reaper = std::thread::Builder::new().name("reaper".to_owned());
            // Without a thread the holder ends all the same; only its entry stays until we end.
            discard!(
                reaper.spawn(move || process.wait()),
                error,
                "no thread waits for the end of the holder"
            );
        }
    }
}

impl KeeperHandle {
    /// Takes its next report without waiting, with the process id of who says it; `None` when the
    /// keeper has ended, and with it the tree.
    pub fn report(&self) -> io::Result<Option<(KeeperReport, u32)>> {
        let received = wire::receive_report(self.control())?;
        if let Some((KeeperReport::Exited(exit), _)) = &received {
            self.is_alone.store(!exit.left_behind, Ordering::Relaxed);
        }
        Ok(received)
    }

    /// Fails only if the keeper has ended.
    pub fn order(&self, order: KeeperOrder) -> io::Result<()> {
        wire::send_order(self.control(), order)
    }

    fn control(&self) -> BorrowedFd<'_> {
        let control = self.control.as_ref();
        control.expect("only drop takes it").as_fd()
    }
}

impl AsRawFd for KeeperHandle {
    fn as_raw_fd(&self) -> RawFd {
        self.control().as_raw_fd()
    }
}

impl Drop for KeeperHandle {
    fn drop(&mut self) {
        if let Some(control) = self.control.take()
            && self.is_alone.load(Ordering::Relaxed)
        {
            // Orders that came too late are before the next request in its queue, and ignored.
            self.holder.take_back(control);
        }
    }
}

fn has_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionReset)
}

/// Waits until the holder has taken requests. The descriptor is registered only for this wait,
/// so that a holder may serve several runtimes.
async fn writable(socket: &OwnedFd) -> io::Result<()> {
    let socket = pollable(socket.try_clone()?)?;
    socket.writable().await?.clear_ready();
    Ok(())
}
