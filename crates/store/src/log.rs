//! A rollout file opened for appending.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use troupe_protocol::SessionId;
use troupe_protocol::discard;
use troupe_protocol::rollout::{RolloutRecord, SessionMeta};

use crate::embedded::StoreHome;
use crate::error::StoreError;
use crate::limits::APPEND_BUFFER_BYTES_KEPT;
use crate::line;
use crate::session_lock::SessionLock;
use crate::store::{LogPosition, SessionLog};

pub(crate) const FILE_MODE: u32 = 0o600;

#[derive(Debug)]
pub(crate) struct FileLog {
    session: SessionId,
    path: PathBuf,
    file: SessionLock,
    /// After the last line that counts.
    end: u64,
    synced: u64,
    /// Directories that got a new entry when this log was created.
    unsynced_directories: Vec<PathBuf>,
    tail: LogTail,
    /// Reused by every append.
    buffer: Vec<u8>,
    home: Arc<StoreHome>,
}

/// What lies behind the last line that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LogTail {
    Clean,
    /// Part of an append that failed. It is cut off before the next one.
    Torn,
    /// The disk refused a sync. What it kept of the pages written before is unknown, and a
    /// second sync would not tell: only reading the file again does.
    Unknown,
}

impl FileLog {
    /// Makes the file, with its meta line.
    pub(crate) fn create(
        home: Arc<StoreHome>,
        meta: &SessionMeta,
        path: PathBuf,
        mut unsynced_directories: Vec<PathBuf>,
    ) -> Result<Self, StoreError> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(&path)
            .map_err(|source| match source.kind() {
                std::io::ErrorKind::AlreadyExists => StoreError::Exists {
                    session: meta.id,
                    path: path.clone(),
                },
                _ => StoreError::io("create", &path, source),
            })?;
        let file = SessionLock::take(file, meta.id, &path)?;
        unsynced_directories.extend(path.parent().map(Path::to_owned));
        let mut log = Self {
            session: meta.id,
            path,
            file,
            end: 0,
            synced: 0,
            unsynced_directories,
            tail: LogTail::Clean,
            buffer: Vec::new(),
            home,
        };
        let first = RolloutRecord::SessionMeta(Box::new(meta.clone()));
        match log.append(&[first]) {
            Ok(_) => Ok(log),
            Err(error) => {
                // A log without its first line is nothing. If it cannot be removed either,
                // listing reports it as a file without meta.
                discard!(
                    std::fs::remove_file(&log.path),
                    error,
                    "a file that is not needed any more was not removed"
                );
                Err(error)
            }
        }
    }

    /// Goes on with a file that ends, whole, at `end`.
    pub(crate) fn resume(
        home: Arc<StoreHome>,
        session: SessionId,
        path: PathBuf,
        file: SessionLock,
        end: LogPosition,
    ) -> Self {
        Self {
            session,
            path,
            file,
            end: end.0,
            // A process that died may have left lines that are not on disk yet.
            synced: 0,
            unsynced_directories: Vec::new(),
            tail: LogTail::Clean,
            buffer: Vec::new(),
            home,
        }
    }

    fn cut_torn_tail(&mut self) -> Result<(), StoreError> {
        self.file
            .set_len(self.end)
            .map_err(|source| StoreError::io("repair", &self.path, source))?;
        self.tail = LogTail::Clean;
        Ok(())
    }

    fn write_buffer(&mut self) -> Result<(), StoreError> {
        match (&*self.file).write_all(&self.buffer) {
            Ok(()) => {
                self.end += self.buffer.len() as u64;
                Ok(())
            }
            Err(source) => {
                self.tail = LogTail::Torn;
                // If this fails the tail stays marked, and the next append tries again.
                discard!(
                    self.cut_torn_tail(),
                    error,
                    "a torn last line stays until the next append"
                );
                Err(StoreError::io("append to", &self.path, source))
            }
        }
    }

    fn unsynced(&self) -> StoreError {
        StoreError::Unsynced {
            path: self.path.clone(),
        }
    }
}

#[async_trait]
impl SessionLog for FileLog {
    fn session(&self) -> SessionId {
        self.session
    }

    fn position(&self) -> LogPosition {
        LogPosition(self.end)
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn append(&mut self, records: &[RolloutRecord]) -> Result<LogPosition, StoreError> {
        match self.tail {
            LogTail::Clean => {}
            LogTail::Torn => self.cut_torn_tail()?,
            LogTail::Unknown => return Err(self.unsynced()),
        }
        self.buffer.clear();
        line::encode(records, self.home.clock.now(), &mut self.buffer)?;
        let written = self.write_buffer();
        self.buffer.clear();
        self.buffer.shrink_to(APPEND_BUFFER_BYTES_KEPT);
        written.map(|()| self.position())
    }

    async fn commit(&mut self) -> Result<(), StoreError> {
        if self.tail == LogTail::Unknown {
            return Err(self.unsynced());
        }
        if self.synced == self.end {
            return Ok(());
        }
        let end = self.end;
        let directories = self.unsynced_directories.clone();
        let synced = self.home.committer.sync(self.file.file(), directories);
        if let Err(source) = synced.await? {
            self.tail = LogTail::Unknown;
            return Err(StoreError::io("sync", &self.path, source));
        }
        self.synced = end;
        self.unsynced_directories = Vec::new();
        Ok(())
    }

    async fn close(mut self: Box<Self>) -> Result<(), StoreError> {
        self.commit().await
    }
}
