//! A terminal that a measured screen sits at: a pty whose other end logs what comes and when, and
//! answers what programs ask of terminals.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::limits::{BENCH_SCREEN_MAX, BENCH_TERMINAL_READ_BYTES};

#[derive(Debug, Clone, Copy)]
pub struct BenchWindow {
    pub columns: u16,
    pub rows: u16,
}

/// A program at a terminal of its own. It is killed with this.
pub struct BenchTerminal {
    child: Child,
    master: File,
    log: Arc<TerminalLog>,
    reader: Option<JoinHandle<()>>,
    pub started: Instant,
}

#[derive(Default)]
struct TerminalLog {
    seen: Mutex<TerminalOutput>,
    grew: Condvar,
}

/// All that the program wrote, and how far it had come at each read.
#[derive(Default)]
struct TerminalOutput {
    bytes: Vec<u8>,
    reads: Vec<(Instant, usize)>,
    is_over: bool,
}

/// A place in the output, and when it was reached.
#[derive(Debug, Clone, Copy)]
pub struct OutputMark {
    pub at: Instant,
    pub offset: usize,
}

/// What programs ask, and how a terminal answers: its cursor, its kind, its colours, its modes.
const QUERIES: [(&[u8], &[u8]); 7] = [
    (b"\x1b[6n", b"\x1b[1;1R"),
    (b"\x1b[c", b"\x1b[?62;4c"),
    (b"\x1b[>c", b"\x1b[>1;10;0c"),
    (b"\x1b]10;?", b"\x1b]10;rgb:d0d0/d0d0/d0d0\x1b\\"),
    (b"\x1b]11;?", b"\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"),
    (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
    (b"\x1b[?u", b"\x1b[?0u"),
];

impl BenchTerminal {
    pub fn start(command: &mut Command, window: BenchWindow) -> io::Result<Self> {
        let (master, slave) = open_pty(window)?;
        command
            .stdin(Stdio::from(slave.try_clone()?))
            .stdout(Stdio::from(slave.try_clone()?))
            .stderr(Stdio::from(slave))
            .env("TERM", "xterm-256color")
            .env_remove("TMUX")
            .env_remove("NO_COLOR")
            .env_remove("ACCESSIBLE");
        // SAFETY: both calls are safe between fork and exec, and touch no memory of ours.
        unsafe {
            command.pre_exec(|| {
                if libc::setsid() == -1 || libc::ioctl(0, libc::TIOCSCTTY, 0) == -1 {
                    return Err(io::Error::last_os_error());
                }
                Ok(())
            });
        }
        let started = Instant::now();
        let child = command.spawn()?;
        // What is left of the slave's descriptors would keep the terminal open.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let log = Arc::new(TerminalLog::default());
        let reader = thread::spawn({
            let (master, log) = (master.try_clone()?, Arc::clone(&log));
            move || follow(master, &log)
        });
        Ok(Self {
            child,
            master,
            log,
            reader: Some(reader),
            started,
        })
    }

    /// Returns where the output ends now.
    pub fn mark(&self) -> OutputMark {
        OutputMark {
            at: Instant::now(),
            offset: self.log.lock().bytes.len(),
        }
    }

    pub fn type_keys(&self, keys: &str) -> io::Result<()> {
        (&self.master).write_all(keys.as_bytes())
    }

    /// Returns when a text was read that came behind a place.
    pub fn shows(&self, text: &str, from: OutputMark) -> io::Result<OutputMark> {
        let mut looked = from.offset;
        self.wait(|output| {
            let at = find(&output.bytes[looked..], text.as_bytes());
            let end = at.map(|at| looked + at + text.len());
            looked = output.bytes.len().saturating_sub(text.len()).max(looked);
            end
        })
        .map_err(|error| io::Error::other(format!("{text:?} was never shown: {error}")))
    }

    /// Returns when anything was read behind a place.
    pub fn writes(&self, from: OutputMark) -> io::Result<OutputMark> {
        self.wait(|output| (output.bytes.len() > from.offset).then_some(from.offset + 1))
    }

    fn wait(
        &self,
        mut reached: impl FnMut(&TerminalOutput) -> Option<usize>,
    ) -> io::Result<OutputMark> {
        let deadline = Instant::now() + BENCH_SCREEN_MAX;
        let mut output = self.log.lock();
        loop {
            if let Some(offset) = reached(&output) {
                let read = output.reads.iter().find(|(_, end)| *end >= offset);
                let at = read.map_or_else(Instant::now, |(at, _)| *at);
                return Ok(OutputMark { at, offset });
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if output.is_over || left.is_zero() {
                let from = output.bytes.len().saturating_sub(2_000);
                let text = String::from_utf8_lossy(&output.bytes[from..]).into_owned();
                let why = if output.is_over {
                    "it ended"
                } else {
                    "waited too long"
                };
                return Err(io::Error::other(format!("{why}; the last of it: {text:?}")));
            }
            output = self
                .log
                .grew
                .wait_timeout(output, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Returns how many bytes came between two places, and how often a text was among them.
    pub fn between(&self, from: OutputMark, to: OutputMark, text: &str) -> (usize, usize) {
        let output = self.log.lock();
        let part = &output.bytes[from.offset..to.offset.max(from.offset)];
        let mut count = 0;
        let mut rest = part;
        while let Some(at) = find(rest, text.as_bytes()) {
            count += 1;
            rest = &rest[at + text.len()..];
        }
        (part.len(), count)
    }

    pub fn resize(&self, window: BenchWindow) -> io::Result<()> {
        let size = window_size(window);
        // SAFETY: the pointer leads to a live variable of the right type.
        match unsafe { libc::ioctl(self.master.as_raw_fd(), libc::TIOCSWINSZ, &raw const size) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for BenchTerminal {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl TerminalLog {
    fn lock(&self) -> MutexGuard<'_, TerminalOutput> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn follow(mut master: File, log: &TerminalLog) {
    let mut buffer = vec![0; BENCH_TERMINAL_READ_BYTES];
    // An error is how a pty says that nobody is at its other end any more.
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        let now = Instant::now();
        let bytes = &buffer[..count];
        for (query, answer) in QUERIES {
            if find(bytes, query).is_some() && master.write_all(answer).is_err() {
                break;
            }
        }
        let mut output = log.lock();
        output.bytes.extend_from_slice(bytes);
        let end = output.bytes.len();
        output.reads.push((now, end));
        drop(output);
        log.grew.notify_all();
    }
    log.lock().is_over = true;
    log.grew.notify_all();
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|part| part == wanted)
}

fn window_size(window: BenchWindow) -> libc::winsize {
    libc::winsize {
        ws_row: window.rows,
        ws_col: window.columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

fn open_pty(window: BenchWindow) -> io::Result<(File, OwnedFd)> {
    let (mut master, mut slave) = (-1, -1);
    let size = window_size(window);
    // SAFETY: the pointers lead to live variables of the right types, or to nothing where that
    // is allowed.
    let opened = unsafe {
        libc::openpty(
            &raw mut master,
            &raw mut slave,
            std::ptr::null_mut(),
            std::ptr::null(),
            &raw const size,
        )
    };
    if opened != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both were opened just now and belong to nobody else.
    let (master, slave) = unsafe { (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
    for fd in [&master, &slave] {
        // SAFETY: this call takes numbers and touches no memory.
        if unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok((File::from(master), slave))
}

/// Lets time pass in which nothing is expected.
pub fn let_pass(time: Duration) {
    thread::sleep(time);
}
