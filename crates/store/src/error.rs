//! What can go wrong, in the words in which it is shown: each says what is concerned and,
//! where a person can help, how.

use std::io;
use std::path::{Path, PathBuf};

use troupe_protocol::{ResponseId, SessionId, SubmissionId};

use crate::store::LogPosition;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error("no session {what:?} in this home; `troupe sessions list` shows the known ones")]
    NotFound { what: String },

    #[error("turn not found: {turn}")]
    NoTurn { turn: SubmissionId },

    #[error("turn {turn} has not ended; interrupt it or wait for its end")]
    TurnRuns { turn: SubmissionId },

    #[error("no bookmark {response_id} in this home; use the response_id of a response")]
    NoBookmark { response_id: ResponseId },

    #[error("bookmark {response_id} belongs to session {found}, not to {asked}; name that session")]
    BookmarkElsewhere {
        response_id: ResponseId,
        asked: SessionId,
        found: SessionId,
    },

    #[error("several sessions are named {name:?}; say which by its id: {}", join(.candidates))]
    SameName {
        name: String,
        candidates: Vec<SessionId>,
    },

    #[error("{text:?} could be any of {}; give more characters of the id", join(.candidates))]
    Ambiguous {
        text: String,
        candidates: Vec<SessionId>,
    },

    #[error(
        "session {session} is in use by {}; end it there, or fork the session",
        owner(*.by)
    )]
    Owned { session: SessionId, by: Option<u32> },

    #[error(
        "session {session} is a member of the tree of {root}, which cannot go on without it; delete {root}"
    )]
    Member { session: SessionId, root: SessionId },

    #[error("session {session} exists already at {path}")]
    Exists { session: SessionId, path: PathBuf },

    #[error("no space left for {path}; free some and try again, what was kept so far is safe")]
    Full { path: PathBuf, source: io::Error },

    #[error(
        "{path} cannot be written; make it writable, choose another TROUPE_HOME, or use --ephemeral"
    )]
    NotWritable { path: PathBuf, source: io::Error },

    #[error("cannot {action} {path}")]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },

    #[error("the disk did not confirm {path}; resume the session to go on from what it kept")]
    Unsynced { path: PathBuf },

    #[error("{path} does not begin with a readable session_meta line: {reason}")]
    Meta { path: PathBuf, reason: String },

    #[error("{position} is not the end of a line of session {session}")]
    Position {
        session: SessionId,
        position: LogPosition,
    },

    #[error("a record of {bytes} bytes is too long for a log line; the most is {max}")]
    LineTooLong { bytes: usize, max: usize },

    #[error("a {kind} record cannot be written as JSON")]
    Encode {
        kind: &'static str,
        source: serde_json::Error,
    },

    #[error("{cursor:?} is not a cursor of this list; use the one of the page before")]
    Cursor { cursor: String },

    #[error(
        "{path} was written by a newer troupe (schema {found}, known is {known}); update, or delete it: it is rebuilt from the logs"
    )]
    IndexNewer {
        path: PathBuf,
        found: i64,
        known: i64,
    },

    #[error("the index {path} failed; it can be rebuilt with `troupe reindex`")]
    Index {
        path: PathBuf,
        source: rusqlite::Error,
    },

    #[error("the store's {thread} thread could not be started or has ended")]
    Stopped { thread: &'static str },
}

impl StoreError {
    /// Sorts an error of the operating system into the kinds that people can do something
    /// about.
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => Self::Full { path, source },
            io::ErrorKind::ReadOnlyFilesystem => Self::NotWritable { path, source },
            io::ErrorKind::PermissionDenied if action != READ => Self::NotWritable { path, source },
            _ => Self::Io {
                action,
                path,
                source,
            },
        }
    }

    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        Self::io(READ, path, source)
    }

    pub(crate) fn not_found(id: SessionId) -> Self {
        Self::NotFound {
            what: id.to_string(),
        }
    }
}

const READ: &str = "read";

fn join(candidates: &[SessionId]) -> String {
    let shown: Vec<String> = candidates.iter().map(ToString::to_string).collect();
    shown.join(", ")
}

fn owner(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}
