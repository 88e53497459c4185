//! The connection: opening, schema, and what is done when the file is of no use.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::clock::UnixMillis;
use crate::error::StoreError;
use crate::limits::{INDEX_BUSY_WAIT_MS, WARNINGS_MAX};
use crate::log::FILE_MODE;

/// Raised with every change of the tables. An index of an older version is thrown away.
const SCHEMA_VERSION: i64 = 3;

const SCHEMA: &str = include_str!("schema.sql");

#[derive(Debug)]
pub(crate) struct IndexDatabase {
    pub(super) db: Connection,
    pub(super) path: PathBuf,
    /// Told with the next answer that can carry them.
    pub(super) warnings: Vec<String>,
}

/// What is done with the file of the index before SQLite has it.
const OPEN: &str = "open the index";

/// What a failure of SQLite means for the index as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndexFault {
    /// The file is damaged.
    Corrupt,
    /// The file cannot be used here and now.
    Unusable,
    /// This request failed.
    Other,
}

impl IndexDatabase {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let failed_to_open = |source| StoreError::io(OPEN, path, source);
        // A pipe in its place would hold the open up until somebody writes into it.
        let is_special = |found: fs::Metadata| !found.is_file() && !found.is_dir();
        if fs::metadata(path).is_ok_and(is_special) {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file");
            return Err(failed_to_open(source));
        }
        // SQLite would create it for everybody to read.
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(FILE_MODE)
            .open(path)
            .map_err(failed_to_open)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || -> rusqlite::Result<Connection> {
            let db = Connection::open_with_flags(path, flags)?;
            db.busy_timeout(Duration::from_millis(INDEX_BUSY_WAIT_MS.into()))?;
            db.pragma_update(None, "journal_mode", "wal")?;
            db.pragma_update(None, "synchronous", "normal")?;
            // The checkpoint on close syncs twice, which a short run would wait for at its
            // end. The one that follows every thousand pages is enough.
            db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            Ok(db)
        };
        let db = open().map_err(|source| failed(path, source))?;
        Self::with_schema(db, path)
    }

    /// An index that ends with the process.
    pub(crate) fn in_memory() -> Result<Self, StoreError> {
        let path = Path::new("memory");
        let db = Connection::open_in_memory().map_err(|source| failed(path, source))?;
        Self::with_schema(db, path)
    }

    fn with_schema(db: Connection, path: &Path) -> Result<Self, StoreError> {
        let mut index = Self {
            db,
            path: path.to_owned(),
            warnings: Vec::new(),
        };
        match index.version()? {
            SCHEMA_VERSION => {}
            found if found > SCHEMA_VERSION => {
                return Err(StoreError::IndexNewer {
                    path: path.to_owned(),
                    found,
                    known: SCHEMA_VERSION,
                });
            }
            _ => index.make_tables()?,
        }
        Ok(index)
    }

    fn version(&self) -> Result<i64, StoreError> {
        let version = self
            .db
            .pragma_query_value(None, "user_version", |row| row.get(0));
        version.map_err(|source| self.failed(source))
    }

    fn make_tables(&mut self) -> Result<(), StoreError> {
        let path = self.path.clone();
        let mut make = || -> rusqlite::Result<()> {
            let tx = self
                .db
                .transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Another process may have been quicker.
            let version: i64 = tx.pragma_query_value(None, "user_version", |row| row.get(0))?;
            if version != SCHEMA_VERSION {
                tx.execute_batch(SCHEMA)?;
                tx.pragma_update(None, "user_version", SCHEMA_VERSION)?;
            }
            tx.commit()
        };
        make().map_err(|source| failed(&path, source))
    }

    pub(super) fn warn(&mut self, warning: String) {
        if self.warnings.len() < WARNINGS_MAX {
            self.warnings.push(warning);
        }
    }

    pub(super) fn failed(&self, source: rusqlite::Error) -> StoreError {
        failed(&self.path, source)
    }
}

fn failed(path: &Path, source: rusqlite::Error) -> StoreError {
    StoreError::Index {
        path: path.to_owned(),
        source,
    }
}

pub(super) fn verdict(error: &StoreError) -> IndexFault {
    match error {
        StoreError::Index { source, .. } => match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => IndexFault::Corrupt,
            Some(
                ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::PermissionDenied,
            ) => IndexFault::Unusable,
            _ => IndexFault::Other,
        },
        StoreError::Full { .. } | StoreError::NotWritable { .. } => IndexFault::Unusable,
        // Something that is no file lies in its place.
        StoreError::Io { action, .. } if *action == OPEN => IndexFault::Unusable,
        _ => IndexFault::Other,
    }
}

/// Renames a damaged index and its companions, and returns the new name.
pub(super) fn move_aside(path: &Path, now: UnixMillis) -> Result<PathBuf, StoreError> {
    let suffixed = |path: &Path, suffix: &str| {
        let mut name = path.to_owned().into_os_string();
        name.push(suffix);
        PathBuf::from(name)
    };
    let aside = suffixed(path, &format!(".corrupt-{}", now.0));
    for companion in ["", "-wal", "-shm"] {
        let from = suffixed(path, companion);
        match fs::rename(&from, suffixed(&aside, companion)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::io("move", &from, error));
            }
            _ => {}
        }
    }
    Ok(aside)
}
