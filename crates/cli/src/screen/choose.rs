//! Which session to go on with, asked before the screen opens.

use std::io::{self, BufRead as _, Write as _};
use std::path::Path;

use troupe_protocol::SessionId;
use troupe_store::{EmbeddedStore, ListQuery, SessionStore};
use troupe_tui::ScreenOptions;
use troupe_tui::resume::{PickerChoice, run_picker};
use troupe_tui::terminal::TerminalDevice;

use super::catalogue::HomeCatalogue;
use super::{settings, surroundings};
use crate::commands::sessions::listing::{ListedSession, ReaderLocation, table};
use crate::commands::{block_on, print};
use crate::exec::request::SessionChoice;
use crate::failure::CommandFailure;
use crate::home::user_home;
use crate::layers::ConfigSource;
use crate::limits::RESUME_CHOICES_MAX;
use crate::terminal::WindowSize;

/// Has a person choose a session; `None` if none was chosen.
pub fn choose_session(
    source: &ConfigSource,
    cwd: &Path,
) -> Result<Option<SessionChoice>, CommandFailure> {
    let options = ScreenOptions {
        settings: settings(source, cwd)?,
        surroundings: surroundings(),
        ..ScreenOptions::default()
    };
    if options.surroundings.wants_plain() {
        let chosen = choose_by_number(source, cwd)?;
        return Ok(Some(SessionChoice::Resume(chosen.to_string())));
    }
    let home = source.home.path();
    let catalogue = HomeCatalogue {
        store: EmbeddedStore::open(home).map_err(CommandFailure::not_started)?,
        source: source.clone(),
        cwd: cwd.to_owned(),
    };
    let choice = block_on(async {
        let terminal = TerminalDevice::open(false).map_err(CommandFailure::not_started)?;
        let picked = run_picker(terminal, Box::new(catalogue), &options).await;
        picked.map_err(CommandFailure::failed)
    })?;
    Ok(match choice {
        PickerChoice::Resume(id) => Some(SessionChoice::Resume(id.to_string())),
        PickerChoice::Fork(id) => Some(SessionChoice::Fork {
            session: id.to_string(),
            at: None,
        }),
        PickerChoice::Nothing => None,
    })
}

/// Shows the sessions of a directory that changed last, from the index alone, and returns the one
/// that the person names by its number: for screen readers, and terminals that can do nothing.
fn choose_by_number(source: &ConfigSource, cwd: &Path) -> Result<SessionId, CommandFailure> {
    let listed = block_on(list(source, cwd))?;
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

async fn list(source: &ConfigSource, cwd: &Path) -> Result<Vec<ListedSession>, CommandFailure> {
    let store = EmbeddedStore::open(source.home.path()).map_err(CommandFailure::not_started)?;
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
