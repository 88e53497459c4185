//! `troupe import`: conversations of other agents become sessions.

mod listing;
mod report;

use std::env;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use troupe_import::places::FoundConversations;
use troupe_import::takeover::{ImportIdentity, derived_session, preview_import};
use troupe_import::{
    ForeignConversation, ForeignDirectories, ImportCandidate, ImportError, Takeover,
};
use troupe_protocol::SessionId;
use troupe_protocol::rollout::ForeignAgent;
use troupe_protocol::session::SessionSource;
use troupe_store::{LogPosition, SessionStore};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::{block_on, print, tell};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here, user_home};
use crate::layers::ConfigSource;
use crate::wiring::Wiring;

#[derive(Debug, Args)]
#[command(
    after_help = "Without a conversation, those are listed that were had in this directory; --last takes the
newest of them. Codex keeps its own in $CODEX_HOME/sessions (~/.codex), Claude Code in
$CLAUDE_CONFIG_DIR/projects (~/.claude). Nothing there is changed.

Carried over: what was said, calls with their answers, pictures, summaries, turns taken back, the
name and the working directory. Not carried over: the other agent's instructions and rights (the
session gets ours), and reasoning that is sealed for another account. What stays behind is told.

The same conversation is always the same session. If it has gone on since, and the session here
has not, the session is brought up to date; if both have, --new makes another one.

Examples:
  troupe import codex                    what there is, for this directory
  troupe import codex --last             take over the newest
  troupe import claude 0f0e0d0c          by the beginning of its id
  troupe import codex ~/.codex/sessions/2026/03/01/rollout-….jsonl
  troupe exec resume rollout-….jsonl \"go on\"   take over and go on, in one step"
)]
pub struct ImportArguments {
    /// Whose conversation it is.
    #[arg(value_enum)]
    agent: AgentChoice,
    /// The conversation: its file, or the first 4 or more characters of its id.
    #[arg(value_name = "PATH|ID")]
    conversation: Option<String>,
    /// Take over the conversation that changed last.
    #[arg(long, conflicts_with_all = ["conversation", "list"])]
    last: bool,
    /// Conversations of any directory.
    #[arg(long)]
    all: bool,
    /// Only list what could be taken over.
    #[arg(long, conflicts_with = "conversation")]
    list: bool,
    /// Say what would be carried over, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Make another session, even if the conversation was taken over before.
    #[arg(long)]
    new: bool,
    /// One JSON object for each conversation.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AgentChoice {
    Codex,
    Claude,
}

impl From<AgentChoice> for ForeignAgent {
    fn from(choice: AgentChoice) -> Self {
        match choice {
            AgentChoice::Codex => Self::Codex,
            AgentChoice::Claude => Self::Claude,
        }
    }
}

pub fn run(
    arguments: ImportArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let agent = ForeignAgent::from(arguments.agent);
    let cwd = here()?;
    let wanted = (!arguments.all).then_some(cwd.as_path());
    let places = places(agent)?;
    let origin = match &arguments.conversation {
        Some(conversation) if is_path(conversation) => named(agent, Path::new(conversation))?,
        Some(id) => by_id(&places, id)?,
        None => {
            let found = search(&places, wanted);
            if !arguments.last {
                return listing::show(&places, wanted, &found, arguments.json);
            }
            let newest = found.candidates.into_iter().next();
            newest.ok_or_else(|| nothing(&places, wanted))?.origin
        }
    };
    let source = ConfigSource {
        home: TroupeHome::find()?,
        overrides,
        layers,
        flags: Vec::new(),
    };
    let wiring = Wiring::new(source, &cwd, SessionSource::Cli)?;
    let imported = if arguments.dry_run {
        preview_import(&origin, &wiring.frame()?).map_err(failure)?
    } else {
        let identity = if arguments.new {
            ImportIdentity::Fresh
        } else {
            ImportIdentity::Derived
        };
        block_on(take_over(&wiring, &origin, identity))?
    };
    if arguments.json {
        print(&report::json(&origin, &imported))?;
    } else {
        print(&report::text(&origin, &imported))?;
        report::losses(&imported);
    }
    Ok(CommandExit::Success)
}

/// Makes a session of a conversation, unless there is one.
async fn take_over(
    wiring: &Wiring,
    origin: &ForeignConversation,
    identity: ImportIdentity,
) -> Result<troupe_import::ImportReport, CommandFailure> {
    let takeover = Takeover {
        home: wiring.home(),
        frame: wiring.frame()?,
        identity,
    };
    takeover.run(origin).await.map_err(failure)
}

/// Takes over the conversation in a file, or finds the session that it already is, for a run that
/// goes on with it.
pub async fn resume_file(wiring: &Wiring, path: &Path) -> Result<SessionId, CommandFailure> {
    let origin = match open(path) {
        // Whoever names a log of ours means its session.
        Err(ImportError::Own { session, .. }) if session.parse::<uuid::Uuid>().is_ok() => {
            return session.parse().map_err(CommandFailure::not_started);
        }
        opened => opened.map_err(failure)?,
    };
    let imported = take_over(wiring, &origin, ImportIdentity::Derived).await?;
    tell(report::text(&origin, &imported).trim_end());
    report::losses(&imported);
    Ok(imported.session)
}

fn open(path: &Path) -> Result<ForeignConversation, ImportError> {
    let absolute = std::path::absolute(path);
    ForeignConversation::open(&absolute.unwrap_or_else(|_| path.to_owned()))
}

/// Returns the session that was made of a conversation with this id, if there is one.
pub async fn session_made_of(store: &dyn SessionStore, id: &str) -> Option<SessionId> {
    for agent in [ForeignAgent::Codex, ForeignAgent::Claude] {
        let session = derived_session(agent, id);
        if store
            .read_all(session, LogPosition::default())
            .await
            .is_ok()
        {
            return Some(session);
        }
    }
    None
}

/// Tells whether somebody means a file, and not a session.
pub fn is_path(text: &str) -> bool {
    let has_ending = |ending: &str| {
        let length = text.len().checked_sub(ending.len());
        let tail = length.and_then(|at| text.get(at..));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(ending))
    };
    text.contains('/') || has_ending(".jsonl") || has_ending(".zst")
}

/// Returns where an agent keeps its conversations.
fn places(agent: ForeignAgent) -> Result<ForeignDirectories, CommandFailure> {
    let (variable, folder) = match agent {
        ForeignAgent::Codex => ("CODEX_HOME", ".codex"),
        ForeignAgent::Claude => ("CLAUDE_CONFIG_DIR", ".claude"),
    };
    let set = env::var_os(variable).filter(|path| !path.is_empty());
    let home = set
        .map(PathBuf::from)
        .or_else(|| user_home().map(|home| home.join(folder)));
    let unset =
        || CommandFailure::usage(format!("neither {variable} nor HOME is set; name the file"));
    Ok(ForeignDirectories {
        agent,
        home: home.ok_or_else(unset)?,
    })
}

fn named(agent: ForeignAgent, path: &Path) -> Result<ForeignConversation, CommandFailure> {
    let origin = open(path).map_err(failure)?;
    if origin.agent == agent {
        return Ok(origin);
    }
    Err(failure(ImportError::OtherAgent {
        path: path.to_owned(),
        asked: agent.as_str(),
        found: origin.agent.as_str(),
    }))
}

/// Finds a conversation by the beginning of its id, wherever it was had.
fn by_id(places: &ForeignDirectories, id: &str) -> Result<ForeignConversation, CommandFailure> {
    const ID_CHARS_MIN: usize = 4;
    if id.len() < ID_CHARS_MIN {
        return Err(CommandFailure::usage(format!(
            "{id:?} is too short; give at least {ID_CHARS_MIN} characters of the id, or the file"
        )));
    }
    let found = search(places, None);
    let is_meant = |it: &ImportCandidate| it.origin.id().starts_with(id);
    let mut meant: Vec<ImportCandidate> = found.candidates.into_iter().filter(is_meant).collect();
    match meant.len() {
        0 => Err(CommandFailure::not_started(anyhow::anyhow!(
            "no conversation {id:?} in {}; `troupe import {} --all` lists them",
            places.directory(None).display(),
            places.agent.as_str()
        ))),
        1 => Ok(meant.remove(0).origin),
        _ => {
            let ids: Vec<String> = meant.iter().map(|it| it.origin.id()).collect();
            Err(CommandFailure::not_started(anyhow::anyhow!(
                "{id:?} could be any of {}; give more characters of the id",
                ids.join(", ")
            )))
        }
    }
}

fn search(places: &ForeignDirectories, cwd: Option<&Path>) -> FoundConversations {
    let found = places.search(cwd);
    for (path, why) in &found.skipped {
        tell(&format!(
            "warning: {} is passed over: {why}",
            path.display()
        ));
    }
    if found.is_cut {
        tell("warning: there are more files than are looked at; name the file");
    }
    found
}

fn nothing(places: &ForeignDirectories, cwd: Option<&Path>) -> CommandFailure {
    CommandFailure::not_started(anyhow::anyhow!(listing::nothing(places, cwd)))
}

/// A conversation that is not usable is the caller's, a home that cannot be written is not.
fn failure(error: ImportError) -> CommandFailure {
    CommandFailure::not_started(error)
}
