//! Which logs go with a session that is deleted, and how files go.
//!
//! A tree is deleted as a whole, from its root: whoever resumes a root reads the logs of all
//! its members. Sessions that were released from a tree are their own.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use troupe_protocol::{AgentId, SessionId};

use crate::embedded::{StoreHome, open_leased};
use crate::error::StoreError;
use crate::tree::AgentRow;

/// Returns the sessions that go with one of a tree, the youngest first and itself last: what
/// is cut short can be done again. `rows` are the tree in the order of birth.
pub(crate) fn with_descendants(
    id: SessionId,
    root: SessionId,
    rows: &[AgentRow],
) -> Result<Vec<SessionId>, StoreError> {
    let Some(top) = rows.iter().find(|row| row.session == id) else {
        return Ok(vec![id]);
    };
    if top.parent.is_some() {
        return Err(StoreError::Member { session: id, root });
    }
    let mut below: BTreeSet<AgentId> = BTreeSet::from([top.agent]);
    let mut sessions = vec![id];
    for row in rows {
        if row.parent.is_some_and(|parent| below.contains(&parent)) {
            below.insert(row.agent);
            sessions.push(row.session);
        }
    }
    sessions.reverse();
    Ok(sessions)
}

/// Removes the files of sessions, or none of them if somebody works on one. Of those that go
/// along, one that has no file has nothing to remove.
pub(crate) fn remove(home: &StoreHome, sessions: &[SessionId]) -> Result<(), StoreError> {
    let mut leased = Vec::new();
    for (place, id) in sessions.iter().enumerate() {
        let is_last = place + 1 == sessions.len();
        match open_leased(home, *id) {
            Err(StoreError::NotFound { .. }) if !is_last => {}
            Err(error) => return Err(error),
            Ok(log) => leased.push(log),
        }
    }
    for (found, _lease) in &leased {
        remove_file(&torn_side(&found.path))?;
        remove_file(&found.path)?;
    }
    Ok(())
}

/// Removes the file of a session that has nothing in it.
pub(crate) fn remove_empty(home: &StoreHome, id: SessionId) -> Result<bool, StoreError> {
    let (found, lease) = open_leased(home, id)?;
    let bytes = lease
        .metadata()
        .map_err(|source| StoreError::read(&found.path, source))?
        .len();
    if bytes > 0 {
        return Ok(false);
    }
    remove_file(&found.path)?;
    Ok(true)
}

/// Returns where a line that was cut off is kept.
pub(crate) fn torn_side(log: &Path) -> PathBuf {
    let mut side = log.to_owned().into_os_string();
    side.push(".torn");
    PathBuf::from(side)
}

fn remove_file(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::io("delete", path, error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
