//! The engine's ends of a command's pipes or terminal.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::pty::{Winsize, openpty};
use nix::unistd::pipe2;
use troupe_protocol::command::OutputStream;
use troupe_protocol::discard;

use crate::holder::StdioDescriptors;
use crate::limits::OUTPUT_EVENT_BYTES_MAX;
use crate::pollable::{Pollable, pollable};
use crate::spec::{StdinMode, TerminalSize};

/// One readable end, until its end.
#[derive(Debug)]
pub(super) struct OutputSource {
    file: Arc<Pollable>,
    buffer: BytesMut,
}

impl OutputSource {
    fn new(file: Arc<Pollable>) -> Self {
        Self {
            file,
            buffer: BytesMut::new(),
        }
    }

    /// Waits for output; `None` is the end. Loses nothing when dropped while it waits.
    async fn read(&mut self) -> Option<Bytes> {
        loop {
            let mut guard = self.file.readable().await.ok()?;
            self.buffer.resize(OUTPUT_EVENT_BYTES_MAX, 0);
            let buffer = &mut self.buffer;
            match guard.try_io(|file| Ok(nix::unistd::read(file.get_ref(), buffer)?)) {
                Ok(Ok(length @ 1..)) => {
                    self.buffer.truncate(length);
                    return Some(self.buffer.split().freeze());
                }
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                // A terminal says EIO when its last user has closed it.
                Ok(Ok(_) | Err(_)) => return None,
                Err(_would_block) => {}
            }
        }
    }
}

/// What a command writes to, as long as it may still come.
#[derive(Debug)]
pub(super) struct ProcessOutputs {
    stdout: Option<OutputSource>,
    stderr: Option<OutputSource>,
}

impl ProcessOutputs {
    pub fn are_open(&self) -> bool {
        self.stdout.is_some() || self.stderr.is_some()
    }

    pub fn close(&mut self) {
        self.stdout = None;
        self.stderr = None;
    }

    /// Waits for output of either stream; `None` when one of them has ended.
    pub async fn read(&mut self) -> Option<(OutputStream, Bytes)> {
        let Self { stdout, stderr } = self;
        let (stream, bytes) = tokio::select! {
            bytes = read_open(stdout) => (OutputStream::Stdout, bytes),
            bytes = read_open(stderr) => (OutputStream::Stderr, bytes),
        };
        let Some(bytes) = bytes else {
            match stream {
                OutputStream::Stdout => self.stdout = None,
                OutputStream::Stderr => self.stderr = None,
            }
            return None;
        };
        Some((stream, bytes))
    }
}

async fn read_open(source: &mut Option<OutputSource>) -> Option<Bytes> {
    match source {
        Some(source) => source.read().await,
        None => std::future::pending().await,
    }
}

/// Where the caller writes to.
#[derive(Debug)]
pub(super) enum ProcessInput {
    Closed,
    Pipe(Pollable),
    Terminal(Arc<Pollable>),
}

impl ProcessInput {
    /// Waits until some bytes could be written and says how many.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let file = match self {
            Self::Closed => return Err(io::ErrorKind::BrokenPipe.into()),
            Self::Pipe(file) => file,
            Self::Terminal(file) => &**file,
        };
        loop {
            let mut guard = file.writable().await?;
            match guard.try_io(|file| Ok(nix::unistd::write(file.get_ref(), bytes)?)) {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return result,
                Err(_would_block) => {}
            }
        }
    }

    /// Ends the input: a pipe is closed, a terminal's reader sees ctrl-D.
    pub fn close(&mut self) {
        const END_OF_TRANSMISSION: &[u8] = b"\x04";
        if let Self::Terminal(file) = self {
            // A terminal that takes no byte now has a full line to read first.
            discard!(
                nix::unistd::write(file.get_ref(), END_OF_TRANSMISSION),
                error,
                "the terminal of a command did not take the end of input"
            );
        } else {
            *self = Self::Closed;
        }
    }

    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        let Self::Terminal(file) = self else {
            return Err(io::Error::other("the command has no terminal"));
        };
        let size = window(size);
        // SAFETY: the pointer is live; the call only reads from it.
        match unsafe { libc::ioctl(file.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Both ends of everything that a new command reads and writes.
#[derive(Debug)]
pub(super) struct ProcessStreams {
    pub input: ProcessInput,
    pub outputs: ProcessOutputs,
    pub theirs: StdioDescriptors,
}

impl ProcessStreams {
    pub fn open(terminal: Option<TerminalSize>, stdin: StdinMode) -> io::Result<Self> {
        match terminal {
            Some(size) => Self::terminal(size),
            None => Self::pipes(stdin),
        }
    }

    fn terminal(size: TerminalSize) -> io::Result<Self> {
        let pty = openpty(&window(size), None)?;
        // The holder starts without our descriptors, but a fork elsewhere in this program may not.
        for file in [&pty.master, &pty.slave] {
            fcntl(file, FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC))?;
        }
        let master = Arc::new(nonblocking(pty.master)?);
        Ok(Self {
            input: ProcessInput::Terminal(Arc::clone(&master)),
            outputs: ProcessOutputs {
                stdout: Some(OutputSource::new(master)),
                stderr: None,
            },
            theirs: StdioDescriptors {
                stdin: pty.slave.try_clone()?,
                stdout: pty.slave.try_clone()?,
                stderr: pty.slave,
            },
        })
    }

    fn pipes(mode: StdinMode) -> io::Result<Self> {
        let (stdout, their_stdout) = pipe2(OFlag::O_CLOEXEC)?;
        let (stderr, their_stderr) = pipe2(OFlag::O_CLOEXEC)?;
        let (input, their_stdin) = match mode {
            StdinMode::Null => (
                ProcessInput::Closed,
                std::fs::File::open("/dev/null")?.into(),
            ),
            StdinMode::Pipe => {
                let (theirs, ours) = pipe2(OFlag::O_CLOEXEC)?;
                (ProcessInput::Pipe(nonblocking(ours)?), theirs)
            }
        };
        Ok(Self {
            input,
            outputs: ProcessOutputs {
                stdout: Some(OutputSource::new(Arc::new(nonblocking(stdout)?))),
                stderr: Some(OutputSource::new(Arc::new(nonblocking(stderr)?))),
            },
            theirs: StdioDescriptors {
                stdin: their_stdin,
                stdout: their_stdout,
                stderr: their_stderr,
            },
        })
    }
}

fn nonblocking(file: OwnedFd) -> io::Result<Pollable> {
    fcntl(&file, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    pollable(file)
}

fn window(size: TerminalSize) -> Winsize {
    Winsize {
        ws_row: size.rows,
        ws_col: size.cols,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
