//! Lines that a person types at the terminal of the run.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;

use nix::sys::termios::{FlushArg, tcflush};
use tokio::io::unix::AsyncFd;
use troupe_protocol::discard;

use crate::limits::TYPED_LINE_BYTES_MAX;

/// The controlling terminal, opened apart from standard input: that one may be shared with other
/// programs, which a non-blocking mode would break, and a thread that waits for it could not be
/// ended with the run.
#[derive(Debug)]
pub struct TerminalLines {
    terminal: AsyncFd<File>,
    /// Typed, and not yet a whole line.
    partial: Vec<u8>,
}

impl TerminalLines {
    /// Must be called in a tokio runtime.
    pub fn open() -> io::Result<Self> {
        let terminal = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open("/dev/tty")?;
        Ok(Self {
            // SAFETY: the file is owned by what is registered, and is not closed before it.
            terminal: unsafe { AsyncFd::register(terminal) }?,
            partial: Vec::new(),
        })
    }

    /// Throws away what was typed up to now: it was not meant for a question that was not there.
    pub fn forget(&mut self) {
        self.partial.clear();
        // A terminal that is gone is noticed by who reads from it.
        discard!(
            tcflush(self.terminal.get_ref(), FlushArg::TCIFLUSH),
            error,
            "the terminal did not take an order"
        );
    }

    /// Returns the next line without its end; `None` where the person ends the input (Ctrl-D), or
    /// the terminal is gone. Safe to cancel.
    pub async fn next(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.partial.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                return Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()));
            }
            let mut ready = self.terminal.readable().await?;
            let mut bytes = [0; 1024];
            match ready.try_io(|terminal| terminal.get_ref().read(&mut bytes)) {
                Ok(Ok(0)) => return Ok(None),
                Ok(Ok(length)) => self.partial.extend_from_slice(&bytes[..length]),
                Ok(Err(error)) => return Err(error),
                Err(_would_block) => continue,
            }
            // A terminal in its usual mode cuts lines far below that.
            self.partial.truncate(TYPED_LINE_BYTES_MAX);
        }
    }
}
