//! `state.db`: what can be asked about many sessions at once.
//!
//! One thread owns the connection and answers one request after the other. It is started,
//! and SQLite opened, by the first question, which is answered from rows that are brought up
//! to date before. Writing a log never waits for it, nor pays for it: the log is the truth,
//! and whoever asks catches up.

mod actor;
mod catch_up;
mod database;
mod query;
mod rows;
mod tree;
mod tree_rows;

pub(crate) use actor::IndexerHandle;
pub(crate) use database::IndexDatabase;

use std::path::PathBuf;

use troupe_protocol::SessionId;

/// Where a log is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogLocation {
    pub(crate) id: SessionId,
    /// Below the home; `None` if the log is only in memory.
    pub(crate) path: Option<PathBuf>,
    pub(crate) archived: bool,
}

#[cfg(test)]
mod tests;
