//! `state.db`: what can be asked about many sessions at once.
//!
//! One thread owns the connection and answers one request after the other. It is started,
//! and SQLite opened, by the first request. Questions are answered from rows that were
//! brought up to date before; at commit points a session's own row is brought up to date in
//! passing. A projection that is skipped or fails costs nothing but a warning: the log is
//! the truth, and the next question catches up.

mod actor;
mod catch_up;
mod database;
mod query;
mod rows;
mod tree;
mod tree_rows;

pub(crate) use actor::Indexer;
pub(crate) use database::Index;

use std::path::PathBuf;

use troupe_protocol::SessionId;

/// Where a log is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogAt {
    pub(crate) id: SessionId,
    /// Below the home; `None` if the log is only in memory.
    pub(crate) path: Option<PathBuf>,
    pub(crate) archived: bool,
}

#[cfg(test)]
mod tests;
