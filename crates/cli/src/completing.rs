//! What a shell is offered when somebody presses Tab: our arguments, and for their values the
//! sessions, agents, roles and models that there are.
//!
//! The script that `troupe completion` prints asks this program each time, with what was typed.
//! Values are looked for when they are asked for; whatever is in the way of finding them offers
//! none, because a shell has no place for an error.

use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::{CompleteEnv, Shell};
use troupe_agents::roles::RoleLibrary;
use troupe_model::catalogue;
use troupe_protocol::AgentId;
use troupe_store::{EmbeddedStore, ListQuery, SessionStore, SessionSummary};

use crate::arguments::Cli;
use crate::commands::block_on;
use crate::failure::CommandFailure;
use crate::home::{TroupeHome, here, user_home};

/// By this variable a script asks for what to offer.
const VARIABLE: &str = "TROUPE_COMPLETE";

/// How many sessions are offered: those that changed last.
const SESSIONS_OFFERED_MAX: usize = 30;

/// The most of a session's first words that is shown beside its id.
const WORDS_SHOWN_MAX: usize = 60;

/// Answers a shell that asks what it can offer, and ends the process then.
pub fn answer_shell() {
    if std::env::var_os(VARIABLE).is_some() {
        CompleteEnv::with_factory(command).var(VARIABLE).complete();
    }
}

/// Returns the script by which a shell asks.
pub fn script(shell: Shell) -> Result<Vec<u8>, CommandFailure> {
    use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Zsh};
    let completer: &dyn EnvCompleter = match shell {
        Shell::Bash => &Bash,
        Shell::Elvish => &Elvish,
        Shell::Fish => &Fish,
        Shell::PowerShell => &Powershell,
        Shell::Zsh => &Zsh,
        shell => {
            let unknown = anyhow::anyhow!("there is no completion for {shell}");
            return Err(CommandFailure::not_started(unknown));
        }
    };
    let mut script = Vec::new();
    completer
        .write_registration(VARIABLE, "troupe", "troupe", "troupe", &mut script)
        .map_err(CommandFailure::failed)?;
    Ok(script)
}

fn command() -> Command {
    with_values(Cli::command())
}

/// Says of each argument what its values are, in all commands.
fn with_values(command: Command) -> Command {
    let command = command.mut_args(with_values_of);
    command.mut_subcommands(with_values)
}

fn with_values_of(argument: Arg) -> Arg {
    let values = match argument.get_id().as_str() {
        "session" => ArgValueCandidates::new(|| found(sessions())),
        "address" => ArgValueCandidates::new(|| found(agents())),
        "model" => ArgValueCandidates::new(models),
        "role" | "roles" => ArgValueCandidates::new(|| found(roles())),
        _ => return argument,
    };
    argument.add(values)
}

fn found(looked_for: Result<Vec<CompletionCandidate>, CommandFailure>) -> Vec<CompletionCandidate> {
    looked_for.unwrap_or_default()
}

/// Returns what is stored in the home, if there is one: looking for something makes none.
fn stored() -> Result<Option<EmbeddedStore>, CommandFailure> {
    let home = TroupeHome::find()?;
    if !home.path().is_dir() {
        return Ok(None);
    }
    let store = EmbeddedStore::open(home.path()).map_err(CommandFailure::failed)?;
    Ok(Some(store))
}

fn sessions() -> Result<Vec<CompletionCandidate>, CommandFailure> {
    let Some(store) = stored()? else {
        return Ok(Vec::new());
    };
    let query = ListQuery {
        limit: Some(SESSIONS_OFFERED_MAX),
        ..ListQuery::default()
    };
    let page = block_on(async { store.list(&query).await.map_err(CommandFailure::failed) })?;
    Ok(page.sessions.iter().map(session).collect())
}

fn session(session: &SessionSummary) -> CompletionCandidate {
    let words = session.name.as_ref().or(session.preview.as_ref());
    let words = words.map(|words| {
        let plain = words.chars().filter(|letter| !letter.is_control());
        plain.take(WORDS_SHOWN_MAX).collect::<String>().into()
    });
    CompletionCandidate::new(session.id.short()).help(words)
}

/// The agents of the newest tree of this directory.
fn agents() -> Result<Vec<CompletionCandidate>, CommandFailure> {
    let (Some(store), cwd) = (stored()?, here()?) else {
        return Ok(Vec::new());
    };
    block_on(async {
        let query = ListQuery {
            cwds: vec![cwd],
            ..ListQuery::default()
        };
        let page = store.list(&query).await.map_err(CommandFailure::failed)?;
        for session in page.sessions {
            let place = store
                .tree_of(session.id)
                .await
                .map_err(CommandFailure::failed)?;
            if let Some(place) = place {
                let rows = store
                    .tree(place.root)
                    .await
                    .map_err(CommandFailure::failed)?;
                let children = rows.iter().filter(|row| row.agent != AgentId::ROOT);
                let offered = children.map(|row| {
                    CompletionCandidate::new(&row.path)
                        .help(Some(format!("agent {}", row.agent).into()))
                });
                return Ok(offered.collect());
            }
        }
        Ok(Vec::new())
    })
}

fn models() -> Vec<CompletionCandidate> {
    let known = catalogue::entries().into_iter();
    known
        .map(|entry| CompletionCandidate::new(entry.model))
        .collect()
}

fn roles() -> Result<Vec<CompletionCandidate>, CommandFailure> {
    let roles = RoleLibrary::new(TroupeHome::find()?.path())
        .with_user_home(user_home())
        .catalogue(&here()?)
        .roles;
    let offered = roles.iter().map(|role| {
        let about = role.description.lines().next().map(str::to_owned);
        CompletionCandidate::new(role.name.to_string()).help(about.map(Into::into))
    });
    Ok(offered.collect())
}
