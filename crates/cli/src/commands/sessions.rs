//! `troupe sessions`: what the home remembers.

mod delete;
mod label;
pub mod listing;
mod markdown;
mod search;
mod show;

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use troupe_protocol::{Op, SessionId};
use troupe_store::{
    ArchivedFilter, EmbeddedStore, ListQuery, LogReader, SessionStore, SessionSummary, SortKey,
};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::{block_on, print, tell};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here, user_home};
use crate::terminal::{self, WindowSize};

use listing::{ListedSession, ReaderLocation};

pub use show::local_time;

#[derive(Debug, Args)]
#[command(
    after_help = "A session is named by its id, by the first characters of it, or by its name.

Examples:
  troupe sessions list --search parser
  troupe sessions search \"off by one\" --since 30d
  troupe sessions name 3f2a9c1e parser
  troupe sessions show 3f2a9c1e
  troupe sessions export 3f2a9c1e > conversation.jsonl
  troupe sessions export 3f2a9c1e --markdown -o conversation.md"
)]
pub struct SessionsArguments {
    #[command(subcommand)]
    action: SessionsAction,
}

#[derive(Debug, Subcommand)]
enum SessionsAction {
    /// List sessions: those of this directory first, and of these the ones that changed last.
    List(SessionsListArguments),
    /// Find what was said in any session.
    Search(search::SearchArguments),
    /// Give a session a name by which it can be called; none takes it away.
    Name {
        /// The session: id, its first 4 or more characters, or name.
        session: String,
        /// Its new name.
        #[arg(default_value = "")]
        name: String,
    },
    /// Put a note on a session; none takes it away.
    Note {
        /// The session: id, its first 4 or more characters, or name.
        session: String,
        /// What to remember of it.
        #[arg(default_value = "")]
        note: String,
    },
    /// Print a session's conversation.
    Show {
        /// The session: id, its first 4 or more characters, or name.
        session: String,
    },
    /// Move a session out of the lists.
    Archive {
        /// The session: id, its first 4 or more characters, or name.
        session: String,
    },
    /// Bring an archived session back.
    Unarchive {
        /// The session: id, its first 4 or more characters, or name.
        session: String,
    },
    /// Delete a session for good, with the agents below it.
    Delete(delete::DeleteArguments),
    /// Write a session's log, one JSON object per line.
    Export {
        /// The session: id, its first 4 or more characters, or name.
        session: String,
        /// Write the conversation as Markdown instead.
        #[arg(long)]
        markdown: bool,
        /// The file to write; standard output if absent.
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Rebuild the index from the session files.
    Reindex,
}

#[derive(Debug, Args)]
struct SessionsListArguments {
    /// Only sessions that last worked in this directory.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Only those whose name or first words contain this text.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Archived sessions instead of live ones.
    #[arg(long)]
    archived: bool,
    /// Which come first: those that began last, or those that changed last.
    #[arg(long, value_enum, default_value_t = SessionSort::Updated)]
    sort: SessionSort,
    /// How many at once (at most 100).
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<NonZeroUsize>,
    /// Continue a list; the value is at the end of the page before.
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// One JSON object per session.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum SessionSort {
    Created,
    Updated,
}

pub fn run(
    arguments: SessionsArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let store = open()?;
    block_on(async {
        match arguments.action {
            SessionsAction::List(arguments) => list(&store, arguments).await,
            SessionsAction::Search(arguments) => search::run(&store, arguments).await,
            SessionsAction::Name { session, name } => {
                let id = resolve(&store, &session).await?;
                label::set(id, Op::SetThreadName { name }, overrides, layers).await
            }
            SessionsAction::Note { session, note } => {
                let id = resolve(&store, &session).await?;
                label::set(id, Op::SetThreadNote { note }, overrides, layers).await
            }
            SessionsAction::Show { session } => {
                let id = resolve(&store, &session).await?;
                let live = store.read_live(id).await.map_err(CommandFailure::failed)?;
                print(&show::transcript(&live))?;
                for warning in &live.warnings {
                    tell(&format!("warning: {warning}"));
                }
                Ok(CommandExit::Success)
            }
            SessionsAction::Archive { session } => {
                let id = resolve(&store, &session).await?;
                store.archive(id).await.map_err(CommandFailure::failed)?;
                print(&format!("archived {id}\n"))?;
                Ok(CommandExit::Success)
            }
            SessionsAction::Unarchive { session } => {
                let id = resolve(&store, &session).await?;
                store.unarchive(id).await.map_err(CommandFailure::failed)?;
                print(&format!("brought back {id}\n"))?;
                Ok(CommandExit::Success)
            }
            SessionsAction::Delete(arguments) => delete::run(&store, arguments).await,
            SessionsAction::Export {
                session,
                markdown,
                output,
            } => {
                let id = resolve(&store, &session).await?;
                if markdown {
                    export_markdown(&store, id, output).await
                } else {
                    export(&store, id, output).await
                }
            }
            SessionsAction::Reindex => rebuild(&store).await,
        }
    })
}

/// `troupe reindex`.
pub fn reindex() -> Outcome {
    let store = open()?;
    block_on(rebuild(&store))
}

fn open() -> Result<EmbeddedStore, CommandFailure> {
    let home = TroupeHome::find()?;
    EmbeddedStore::open(home.path()).map_err(CommandFailure::not_started)
}

async fn resolve(store: &dyn SessionStore, text: &str) -> Result<SessionId, CommandFailure> {
    store
        .resolve(text)
        .await
        .map_err(CommandFailure::not_started)
}

/// Returns a directory as sessions record theirs: absolute, without links and dots. One that is
/// gone can still have been worked in.
fn worked_in(directory: &Path) -> Result<PathBuf, CommandFailure> {
    match fs::canonicalize(directory) {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(here()?.join(directory).components().collect())
        }
        Err(error) => Err(CommandFailure::usage(format!(
            "--cwd {}: {error}",
            directory.display()
        ))),
    }
}

async fn list(store: &dyn SessionStore, arguments: SessionsListArguments) -> Outcome {
    let cwd = arguments.cwd.as_deref().map(worked_in).transpose()?;
    let here = here()?;
    let query = ListQuery {
        cwds: cwd.clone().into_iter().collect(),
        archived: if arguments.archived {
            ArchivedFilter::Archived
        } else {
            ArchivedFilter::Live
        },
        search: arguments.search,
        sort: match arguments.sort {
            SessionSort::Created => SortKey::Created,
            SessionSort::Updated => SortKey::Updated,
        },
        cursor: arguments.cursor,
        limit: arguments.limit.map(NonZeroUsize::get),
        ..ListQuery::default()
    };
    let page = store.list(&query).await.map_err(CommandFailure::failed)?;
    for warning in &page.warnings {
        tell(&format!("warning: {warning}"));
    }
    // Programs read pages in one order; people look for what they did here.
    let is_sorted_by_place = !arguments.json && cwd.is_none() && query.cursor.is_none();
    let summaries = if is_sorted_by_place {
        with_here_first(store, &query, &here, page.sessions).await?
    } else {
        page.sessions
    };
    let mut sessions = Vec::with_capacity(summaries.len());
    for summary in summaries {
        let tree = store
            .tree(summary.id)
            .await
            .map_err(CommandFailure::failed)?;
        sessions.push(ListedSession {
            summary,
            agents: tree.len().saturating_sub(1),
        });
    }
    if arguments.json {
        print(&sessions.iter().map(show::summary_json).collect::<String>())?;
    } else {
        let user_home = user_home();
        let from = ReaderLocation {
            here: &here,
            user_home: user_home.as_deref(),
        };
        let columns = WindowSize::of(&io::stdout()).map(|size| size.columns);
        print(&listing::table(&sessions, from, columns))?;
    }
    if let Some(cursor) = page.next {
        tell(&format!("more: troupe sessions list --cursor {cursor}"));
    } else if sessions.is_empty() {
        tell("no sessions");
    }
    Ok(CommandExit::Success)
}

/// Puts the sessions of this directory before those of a page, also if they are older.
async fn with_here_first(
    store: &dyn SessionStore,
    query: &ListQuery,
    here: &Path,
    page: Vec<SessionSummary>,
) -> Result<Vec<SessionSummary>, CommandFailure> {
    let of_here = ListQuery {
        cwds: vec![here.to_owned()],
        ..query.clone()
    };
    let mut sessions = store
        .list(&of_here)
        .await
        .map_err(CommandFailure::failed)?
        .sessions;
    sessions.extend(page.into_iter().filter(|session| session.cwd != here));
    Ok(sessions)
}

async fn export_markdown(
    store: &dyn SessionStore,
    id: SessionId,
    output: Option<PathBuf>,
) -> Outcome {
    let live = store.read_live(id).await.map_err(CommandFailure::failed)?;
    let text = markdown::document(&live);
    match output {
        None => print(&text)?,
        Some(path) => fs::write(&path, text).map_err(|error| {
            let context = format!("cannot write {}", path.display());
            CommandFailure::failed(anyhow::Error::new(error).context(context))
        })?,
    }
    Ok(CommandExit::Success)
}

async fn export(store: &dyn SessionStore, id: SessionId, output: Option<PathBuf>) -> Outcome {
    let is_for_eyes = output.is_none() && io::stdout().is_terminal();
    let mut sink: Box<dyn Write> = match output {
        Some(path) => {
            let file = std::fs::File::create(&path).map_err(|error| {
                CommandFailure::failed(
                    anyhow::Error::new(error).context(format!("cannot write {}", path.display())),
                )
            })?;
            Box::new(io::BufWriter::new(file))
        }
        None => Box::new(io::BufWriter::new(io::stdout().lock())),
    };
    let mut log = LogReader::new(id);
    while let Some(lines) = log.next(store).await.map_err(CommandFailure::failed)? {
        for line in &lines {
            if is_for_eyes {
                let line = String::from_utf8_lossy(&line.bytes);
                sink.write_all(terminal::harmless_json(&line).as_bytes())?;
            } else {
                sink.write_all(&line.bytes)?;
            }
            sink.write_all(b"\n")?;
        }
    }
    sink.flush()?;
    Ok(CommandExit::Success)
}

async fn rebuild(store: &dyn SessionStore) -> Outcome {
    let live = io::stderr().is_terminal();
    let report = store
        .reindex(&mut |progress| {
            if live {
                // A progress line is not worth failing for.
                let _ = write!(
                    io::stderr(),
                    "\r{} of {} files",
                    progress.files_done,
                    progress.files
                );
            }
        })
        .await
        .map_err(CommandFailure::failed)?;
    if live {
        tell("");
    }
    for warning in &report.warnings {
        tell(&format!("warning: {warning}"));
    }
    print(&format!(
        "indexed {} sessions and {} bookmarks ({} bytes)\n",
        report.sessions, report.bookmarks, report.bytes
    ))?;
    Ok(CommandExit::Success)
}
