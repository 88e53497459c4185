//! What the agents below a session changed: their own logs have it, and an undo of the session
//! leaves it as it is. Whoever takes back a task that let others work should know of them.

use std::collections::HashSet;

use troupe_protocol::{AgentId, SessionId};
use troupe_store::{AgentRow, SessionStore};
use troupe_tools::undo::UndoLedger;

use super::file_facts;
use crate::limits::UNDO_AGENTS_NAMED_MAX;

/// Says which agents below a session changed files that an undo of each can take back. A tree
/// that cannot be read has nothing to say here: its own commands tell what is wrong.
pub(super) async fn left_changes(store: &dyn SessionStore, session: SessionId) -> Vec<String> {
    let Ok(Some(place)) = store.tree_of(session).await else {
        return Vec::new();
    };
    let Ok(rows) = store.tree(place.root).await else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    let mut more = 0_usize;
    for row in below(place.agent, &rows) {
        let changed = match file_facts(store, row.session).await {
            Ok(facts) => UndoLedger::fold(facts).standing_files(),
            // Its log is gone, and with it what could be taken back.
            Err(_) => continue,
        };
        if changed == 0 {
            continue;
        }
        if notes.len() == UNDO_AGENTS_NAMED_MAX {
            more += 1;
            continue;
        }
        let files = if changed == 1 { "file" } else { "files" };
        notes.push(format!(
            "agent {} changed {changed} {files}, which only an undo of its own session {} takes back",
            row.path,
            row.session.short()
        ));
    }
    if more > 0 {
        notes.push(format!("{more} more agents changed files"));
    }
    notes
}

/// Returns the agents below one, in the order of their birth: parents are older.
fn below(top: AgentId, rows: &[AgentRow]) -> Vec<&AgentRow> {
    let mut reached = HashSet::from([top]);
    let mut found = Vec::new();
    for row in rows {
        if row.parent.is_some_and(|parent| reached.contains(&parent)) {
            reached.insert(row.agent);
            found.push(row);
        }
    }
    found
}
