//! Why a conversation is not taken over.

use std::io;
use std::path::PathBuf;

use troupe_protocol::SessionId;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    #[error("cannot read {}", .path.display())]
    Read { path: PathBuf, source: io::Error },

    #[error("{} is a symbolic link; name the file that it leads to", .path.display())]
    Link { path: PathBuf },

    #[error("{} is {what}, and no file with a conversation", .path.display())]
    NoFile { path: PathBuf, what: &'static str },

    #[error("{} is compressed; unpack it first (`zstd -d`)", .path.display())]
    Compressed { path: PathBuf },

    #[error("{} is a log of Troupe itself; resume session {session} by its id", .path.display())]
    Own { path: PathBuf, session: String },

    #[error(
        "{} is no conversation of Codex or Claude Code: none of its first lines is one of theirs",
        .path.display()
    )]
    Unknown { path: PathBuf },

    #[error("{} is a conversation of {found}, not of {asked}; say `troupe import {found}`", .path.display())]
    OtherAgent {
        path: PathBuf,
        asked: &'static str,
        found: &'static str,
    },

    #[error("nobody says anything in {}", .path.display())]
    Empty { path: PathBuf },

    #[error(
        "session {session} has the id of this conversation and was not made from it; `--new` gives it another id"
    )]
    Taken { session: SessionId },

    #[error(transparent)]
    Store(#[from] troupe_store::StoreError),
}

impl ImportError {
    pub(crate) fn read(path: &std::path::Path, source: io::Error) -> Self {
        Self::Read {
            path: path.to_owned(),
            source,
        }
    }
}
