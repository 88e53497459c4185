//! Which session to go on with, asked before the screen opens.

use std::io::{self, BufRead as _, Write as _};
use std::path::Path;

use troupe_protocol::SessionId;
use troupe_store::{EmbeddedStore, ListQuery, SessionStore};

use crate::commands::sessions::listing::{ListedSession, ReaderLocation, table};
use crate::commands::{block_on, print};
use crate::failure::CommandFailure;
use crate::home::{TroupeHome, user_home};
use crate::limits::RESUME_CHOICES_MAX;
use crate::terminal::WindowSize;

/// Shows the sessions of a directory that changed last, from the index alone, and returns the one
/// that the person names by its number.
pub fn choose_session(home: &TroupeHome, cwd: &Path) -> Result<SessionId, CommandFailure> {
    let listed = block_on(list(home, cwd))?;
    if listed.is_empty() {
        return Err(CommandFailure::usage(format!(
            "no session has worked in {} yet; `troupe sessions list --all` shows those of other \
             directories",
            cwd.display()
        )));
    }
    let user_home = user_home();
    let from = ReaderLocation {
        here: cwd,
        user_home: user_home.as_deref(),
    };
    let columns = WindowSize::of(&io::stdout()).map(|size| size.columns);
    let rows = table(&listed, from, columns);
    for (number, row) in (1..).zip(rows.lines()) {
        print(&format!("{number:>3}  {row}\n"))?;
    }
    loop {
        print("Which one? Its number, or nothing to leave: ")?;
        io::stdout().flush()?;
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line)?;
        let line = line.trim();
        if read == 0 || line.is_empty() {
            return Err(CommandFailure::usage("no session was chosen"));
        }
        let chosen = line.parse::<usize>().ok();
        let chosen = chosen.and_then(|number| listed.get(number.checked_sub(1)?));
        if let Some(chosen) = chosen {
            return Ok(chosen.summary.id);
        }
    }
}

async fn list(home: &TroupeHome, cwd: &Path) -> Result<Vec<ListedSession>, CommandFailure> {
    let store = EmbeddedStore::open(home.path()).map_err(CommandFailure::not_started)?;
    let query = ListQuery {
        cwds: vec![cwd.to_owned()],
        limit: Some(RESUME_CHOICES_MAX),
        ..ListQuery::default()
    };
    let page = store
        .list(&query)
        .await
        .map_err(CommandFailure::not_started)?;
    let mut listed = Vec::new();
    for summary in page.sessions {
        let tree = store
            .tree(summary.id)
            .await
            .map_err(CommandFailure::not_started)?;
        listed.push(ListedSession {
            summary,
            agents: tree.len().saturating_sub(1),
        });
    }
    Ok(listed)
}
