//! What could be taken over.

use std::path::Path;

use serde_json::json;
use troupe_import::places::FoundConversations;
use troupe_import::{ForeignDirectories, ImportCandidate};
use troupe_store::{EmbeddedStore, LogPosition, SessionStore};

use crate::commands::sessions::local_time;
use crate::commands::{block_on, print, tell};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::TroupeHome;
use crate::terminal;

/// Characters of an id that are shown. Those of Codex begin with the time, so that eight are the
/// same for all conversations of a minute.
const ID_CHARS: usize = 13;

pub fn show(
    places: &ForeignDirectories,
    cwd: Option<&Path>,
    found: &FoundConversations,
    as_json: bool,
) -> Outcome {
    if found.candidates.is_empty() {
        tell(&nothing(places, cwd));
        return Ok(CommandExit::Success);
    }
    let home = TroupeHome::find()?;
    // A home that does not exist yet has no sessions, and is not made by looking.
    let store = home
        .path()
        .is_dir()
        .then(|| EmbeddedStore::open(home.path()));
    let store = store.transpose().map_err(CommandFailure::not_started)?;
    let rows = block_on(async {
        let mut rows = String::new();
        for candidate in &found.candidates {
            let is_known = is_known(store.as_ref(), candidate).await;
            rows += &if as_json {
                row_json(candidate, is_known)
            } else {
                row(candidate, is_known, cwd)
            };
        }
        Ok(rows)
    })?;
    print(&rows)?;
    if !as_json {
        let agent = places.agent.as_str();
        tell(&format!(
            "take one over with `troupe import {agent} ID`, the first with --last"
        ));
    }
    Ok(CommandExit::Success)
}

/// Tells whether a conversation was taken over before.
async fn is_known(store: Option<&EmbeddedStore>, candidate: &ImportCandidate) -> bool {
    let Some(store) = store else { return false };
    let session = candidate.origin.session();
    store
        .read_all(session, LogPosition::default())
        .await
        .is_ok()
}

/// Says where it was looked in vain.
pub fn nothing(places: &ForeignDirectories, cwd: Option<&Path>) -> String {
    let directory = places.directory(cwd);
    let looked = format!("nothing to import: looked in {}", directory.display());
    match cwd {
        Some(cwd) => format!(
            "{looked} for conversations that were had in {}; --all looks for others",
            cwd.display()
        ),
        None => looked,
    }
}

fn row(candidate: &ImportCandidate, is_known: bool, cwd: Option<&Path>) -> String {
    let ImportCandidate { origin, updated } = candidate;
    let id: String = origin.id().chars().take(ID_CHARS).collect();
    let known = if is_known {
        format!("  = session {}", origin.session().short())
    } else {
        String::new()
    };
    let heading = &origin.heading;
    let place = match (cwd, &heading.cwd) {
        (None, Some(place)) => format!("  {}", place.display()),
        _ => String::new(),
    };
    let preview = heading.preview.as_deref().unwrap_or("(empty)");
    terminal::harmless(&format!(
        "{id}  {}{place}  {preview}{known}\n",
        local_time(*updated)
    ))
}

fn row_json(candidate: &ImportCandidate, is_known: bool) -> String {
    let ImportCandidate { origin, updated } = candidate;
    let heading = &origin.heading;
    let object = json!({
        "agent": origin.agent,
        "id": origin.id(),
        "path": origin.file.path(),
        "bytes": origin.file.bytes(),
        "cwd": heading.cwd,
        "started": heading.started.map(|at| at.to_string()),
        "updated": updated.to_string(),
        "preview": heading.preview,
        "session": is_known.then(|| origin.session()),
    });
    format!("{object}\n")
}
