//! The engine's end of a holder.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;

use tokio::process::{Child, Command};

use super::startup::NAME;
use super::wire::{self, Descriptors, Request};
use crate::pollable::pollable;

/// A running holder. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Holder {
    socket: OwnedFd,
    /// Never waited for: once dropped, the runtime reaps it when it has ended.
    _process: Child,
}

impl Holder {
    pub fn start() -> io::Result<Self> {
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
        Ok(Self {
            socket: ours,
            _process: process,
        })
    }

    /// Asks for a command; returns the engine's end of its control socket. Whether it started
    /// is the first report there.
    pub async fn request(&self, request: &Request, stdio: &Descriptors) -> io::Result<OwnedFd> {
        let text = wire::request_text(request)?;
        let (ours, theirs) = wire::socket_pair()?;
        loop {
            let (text, control) = (text.as_fd(), theirs.as_fd());
            match wire::send_request(self.socket.as_fd(), text, control, stdio) {
                Ok(()) => return Ok(ours),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable().await?,
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the holder has taken requests. The descriptor is registered only for this
    /// wait, so that a holder may serve several runtimes.
    async fn writable(&self) -> io::Result<()> {
        let socket = pollable(self.socket.try_clone()?)?;
        socket.writable().await?.clear_ready();
        Ok(())
    }
}
