//! One daemon of each home: a locked file says that there is one, another one where it is. The
//! kernel gives the lock back when its owner dies, however it dies.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::home::TroupeHome;

const LOCK: &str = "serve.lock";
const RECORD: &str = "serve.json";
const FILE_MODE: u32 = 0o600;

/// Where a daemon is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonRecord {
    pub pid: u32,
    pub urls: Vec<String>,
    pub version: String,
    pub started_at: String,
}

impl DaemonRecord {
    pub fn new(urls: Vec<String>) -> Self {
        Self {
            pid: std::process::id(),
            urls,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: format!("{:.3}", jiff::Timestamp::now()),
        }
    }
}

/// The right to be the daemon of a home, as long as it is kept.
#[derive(Debug)]
pub struct DaemonPlace {
    record: PathBuf,
    _lock: File,
}

/// Why there is no place.
#[derive(Debug)]
pub enum PlaceTaken {
    /// Somebody has it, who may not have said yet where it is.
    By(Option<DaemonRecord>),
    Failed(io::Error),
}

impl DaemonPlace {
    pub fn take(home: &TroupeHome) -> Result<Self, PlaceTaken> {
        let lock = open_lock(home).map_err(PlaceTaken::Failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(PlaceTaken::By(
                    Self::record(home).map_err(PlaceTaken::Failed)?,
                ));
            }
            Err(TryLockError::Error(error)) => return Err(PlaceTaken::Failed(error)),
        }
        let record = path(home, RECORD);
        // What one that died has said is true no more.
        match fs::remove_file(&record) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(PlaceTaken::Failed(error));
            }
            _ => {}
        }
        Ok(Self {
            record,
            _lock: lock,
        })
    }

    /// Says where the daemon is. Nobody reads half of it.
    pub fn announce(&mut self, record: DaemonRecord) -> io::Result<()> {
        let draft = self.record.with_extension("draft");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(FILE_MODE)
            .open(&draft)?;
        serde_json::to_writer(&mut file, &record)?;
        file.write_all(b"\n")?;
        fs::rename(draft, &self.record)
    }

    /// Returns the daemon that runs; `None` if there is none.
    pub fn look(home: &TroupeHome) -> io::Result<Option<DaemonRecord>> {
        let lock = match File::open(path(home, LOCK)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        match lock.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Self::record(home),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Returns what the last daemon said of itself.
    pub fn record(home: &TroupeHome) -> io::Result<Option<DaemonRecord>> {
        match fs::read(path(home, RECORD)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => Ok(Some(serde_json::from_slice(&read?)?)),
        }
    }

    /// Returns when no daemon has the place any more.
    pub fn wait_until_free(home: &TroupeHome) -> io::Result<()> {
        open_lock(home)?.lock_shared()
    }
}

impl Drop for DaemonPlace {
    fn drop(&mut self) {
        // What stays is removed by the next daemon; nobody believes it without the lock.
        troupe_protocol::discard!(
            fs::remove_file(&self.record),
            error,
            "a file that is not needed any more was not removed"
        );
    }
}

/// Asks a daemon to end in order. One that has ended meanwhile needs no asking.
pub fn terminate(record: &DaemonRecord) -> io::Result<()> {
    let pid = i32::try_from(record.pid).map_err(io::Error::other)?;
    match kill(Pid::from_raw(pid), Signal::SIGTERM) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn open_lock(home: &TroupeHome) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .open(path(home, LOCK))
}

fn path(home: &TroupeHome, name: &str) -> PathBuf {
    home.path().join("run").join(name)
}
