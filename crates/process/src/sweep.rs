//! Ends what an engine left behind that could not end it itself.
//!
//! When an engine dies, its holders and keepers end every command (see `holder`). Only if they
//! were killed as well can a process remain. So each engine leaves a record in
//! `$TROUPE_HOME/run` while it may have commands, every command carries the engine's mark in its
//! environment, and the next engine looks for marks of engines that are recorded and dead.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use troupe_protocol::discard;

/// The variable that carries the mark.
pub(crate) const MARK: &str = "TROUPE_ENGINE";

/// One run of an engine. The start time tells it from a later process with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EngineId {
    pid: u32,
    /// In clock ticks since the machine started.
    started: u64,
}

impl EngineId {
    pub fn current() -> io::Result<Self> {
        let pid = std::process::id();
        let started = start_time(pid).ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { pid, started })
    }

    fn parse(text: &str) -> Option<Self> {
        let (pid, started) = text.split_once('-')?;
        Some(Self {
            pid: pid.parse().ok()?,
            started: started.parse().ok()?,
        })
    }

    fn is_alive(self) -> bool {
        start_time(self.pid) == Some(self.started)
    }
}

impl fmt::Display for EngineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.pid, self.started)
    }
}

/// An engine's record; it is removed when dropped.
#[derive(Debug)]
pub(crate) struct EngineRecord(PathBuf);

impl EngineRecord {
    pub fn write(home: &Path, engine: EngineId) -> io::Result<Self> {
        let directory = records_of(home);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&directory)?;
        let path = directory.join(engine.to_string());
        fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)?;
        Ok(Self(path))
    }
}

impl Drop for EngineRecord {
    fn drop(&mut self) {
        // What stays is found by the next sweep, which will find nothing to end.
        discard!(
            fs::remove_file(&self.0),
            error,
            "a file that is not needed any more was not removed"
        );
    }
}

/// Ends every process that carries the mark of an engine of this home which has died, and nothing
/// else. Returns how many there were. To be called when an engine starts.
pub fn sweep(home: &Path) -> io::Result<usize> {
    let entries = match fs::read_dir(records_of(home)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut ended = 0;
    for entry in entries {
        let entry = entry?;
        let engine = EngineId::parse(&entry.file_name().to_string_lossy());
        if let Some(engine) = engine.filter(|engine| !engine.is_alive()) {
            ended += end_marked(engine)?;
            fs::remove_file(entry.path())?;
        }
    }
    Ok(ended)
}

fn records_of(home: &Path) -> PathBuf {
    home.join("run")
}

fn end_marked(engine: EngineId) -> io::Result<usize> {
    let mark = format!("{MARK}={engine}");
    let mut ended = 0;
    for process in fs::read_dir("/proc")?.flatten() {
        let name = process.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if is_marked(pid, &mark) && end_if(pid, |pid| is_marked(pid, &mark)) {
            ended += 1;
        }
    }
    Ok(ended)
}

/// Those of other users cannot be read and are not ours.
fn is_marked(pid: u32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut variables = environment.split(|byte| *byte == 0);
    variables.any(|variable| variable == mark.as_bytes())
}

/// Kills the process that has the id now, if it is the right one. The handle is taken first, so
/// that an id which is used again meanwhile hurts nobody.
fn end_if(pid: u32, is_right: impl FnOnce(u32) -> bool) -> bool {
    // SAFETY: the call takes two numbers and makes a descriptor.
    let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let Ok(handle @ 0..) = i32::try_from(handle) else {
        return false;
    };
    // SAFETY: the call has just made this descriptor.
    let handle = unsafe { OwnedFd::from_raw_fd(handle) };
    if !is_right(pid) {
        return false;
    }
    let no_details = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: without details, the call is a plain kill.
    let result = unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            handle.as_raw_fd(),
            libc::SIGKILL,
            no_details,
            0,
        )
    };
    result == 0
}

/// The 22nd field of `stat`, counted after the name, which may contain anything.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}
