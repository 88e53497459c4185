//! `troupe roles`: the kinds of children that there are.

mod show;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use troupe_agents::roles::{
    BrokenRole, RoleCatalogue, RoleError, RoleLibrary, RoleName, TypeChoices, create,
    project_directory,
};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::{print, tell};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here, repository_root, user_home};
use crate::layers::{ConfigSource, LoadedConfig};
use crate::settings::Settings;
use crate::wiring::ConfiguredNames;

#[derive(Debug, Args)]
#[command(
    after_help = "A role is a file NAME.md: YAML between two lines `---`, then a prompt. Looked for in
.troupe/agents of this directory and those above it up to the repository's root, then in
$TROUPE_HOME/agents, then among the built-in ones. The first one of a name counts; one that is
not understood, or that names a tool or an MCP server which nobody knows, refuses its name.

Examples:
  troupe roles list
  troupe roles show reviewer
  troupe roles new data-miner
  troupe roles check .troupe/agents/data-miner.md"
)]
pub struct RolesArguments {
    #[command(subcommand)]
    action: RolesAction,
}

#[derive(Debug, Subcommand)]
enum RolesAction {
    /// List the roles that can be used here, and the files that cannot.
    #[command(
        after_help = "Examples:\n  troupe roles list\n  troupe roles list --json | jq -r .name"
    )]
    List {
        /// One JSON object per role and per broken file.
        #[arg(long)]
        json: bool,
    },
    /// Print what a role says, where each value comes from, and its prompt.
    #[command(
        after_help = "Examples:\n  troupe roles show explorer\n  troupe roles show data-miner --persona brief"
    )]
    Show {
        #[arg(id = "role")]
        name: String,
        /// A variant that the role declares in `agent_names`.
        #[arg(long, value_name = "PERSONA")]
        persona: Option<String>,
    },
    /// Check role files; exits with 1 if one is not understood.
    #[command(
        after_help = "Examples:\n  troupe roles check                 every file that is looked for from here\n  troupe roles check agents/*.md     these files, wherever they lie\n  troupe roles check data-miner      the role that this name means here"
    )]
    Check {
        #[arg(value_name = "FILE|NAME")]
        roles: Vec<PathBuf>,
    },
    /// Write a commented role file to begin with; never replaces one.
    #[command(
        after_help = "Examples:\n  troupe roles new data-miner           for this repository\n  troupe roles new data-miner --user    for all projects"
    )]
    New {
        name: String,
        /// Into `$TROUPE_HOME/agents` instead of `.troupe/agents` at the repository's root.
        #[arg(long)]
        user: bool,
    },
}

pub fn run(
    arguments: RolesArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let home = TroupeHome::find()?;
    let cwd = here()?;
    let source = ConfigSource {
        home: home.clone(),
        overrides,
        layers,
        flags: Vec::new(),
    };
    let LoadedConfig { config, warnings } = source.load(&cwd)?;
    for warning in &warnings {
        tell(&format!("warning: {warning}"));
    }
    let settings = Settings::read(&config)?;
    let servers = ConfiguredNames::of(&settings.integrations);
    let types = settings.agents.types();
    let roles = RoleLibrary::new(home.path())
        .with_user_home(user_home())
        .with_servers(servers);
    match arguments.action {
        RolesAction::List { json } => list(&roles.catalogue(&cwd), &types, json),
        RolesAction::Show { name, persona } => {
            let role = roles.resolve(&cwd, &name).map_err(refused)?;
            let persona = persona
                .map(|name| role.persona(&name))
                .transpose()
                .map_err(refused)?;
            let configured = types.of(&role).cloned().unwrap_or_default();
            let as_configured = types.applied_to(Arc::clone(&role));
            print(&show::details(&as_configured, persona, &configured))?;
            Ok(CommandExit::Success)
        }
        RolesAction::Check { roles: named } if named.is_empty() => {
            check_all(&roles.catalogue(&cwd))
        }
        RolesAction::Check { roles: named } => check(&roles, &cwd, &named),
        RolesAction::New { name, user } => {
            let name = RoleName::parse(&name).map_err(|error| refused(error.into()))?;
            let directory = if user {
                home.path().join("agents")
            } else {
                project_directory(repository_root(&cwd).unwrap_or(&cwd))
            };
            new(&directory, &name)
        }
    }
}

fn list(catalogue: &RoleCatalogue, types: &TypeChoices, json: bool) -> Outcome {
    let RoleCatalogue { roles, broken } = catalogue;
    if json {
        let roles = roles.iter().map(|role| types.applied_to(Arc::clone(role)));
        let roles = roles.map(|role| show::json_line(&role));
        let lines: Vec<String> = roles.chain(broken.iter().map(show::broken_json)).collect();
        print(&lines.concat())?;
    } else {
        print(&show::table(roles))?;
        report(broken);
    }
    Ok(CommandExit::Success)
}

fn check_all(catalogue: &RoleCatalogue) -> Outcome {
    report(&catalogue.broken);
    let (usable, broken) = (catalogue.roles.len(), catalogue.broken.len());
    let noun = if usable == 1 { "role" } else { "roles" };
    print(&format!("{usable} {noun} can be used, {broken} cannot\n"))?;
    Ok(verdict(broken))
}

fn check(roles: &RoleLibrary, cwd: &Path, named: &[PathBuf]) -> Outcome {
    let mut broken = Vec::new();
    for path in named {
        let role = match name(path) {
            Some(name) => roles.resolve(cwd, name),
            None => roles.read(path),
        };
        match role {
            Ok(role) => {
                print(&format!("{}: ok\n", path.display()))?;
                for note in &role.notes {
                    tell(&format!("note: {}: {note}", path.display()));
                }
            }
            Err(error) => broken.push(BrokenRole {
                path: path.clone(),
                error,
            }),
        }
    }
    report(&broken);
    Ok(verdict(broken.len()))
}

/// Returns what can only be meant as a role's name: one word without an ending, and no file.
fn name(path: &Path) -> Option<&str> {
    let is_word = path.components().count() == 1 && path.extension().is_none();
    let name = path.to_str().filter(|_| is_word && !path.exists())?;
    RoleName::parse(name).is_ok().then_some(name)
}

fn report(broken: &[BrokenRole]) {
    for BrokenRole { error, .. } in broken {
        tell(&format!("broken: {error}"));
    }
}

fn verdict(broken: usize) -> CommandExit {
    match broken {
        0 => CommandExit::Success,
        _ => CommandExit::Failed,
    }
}

fn new(directory: &Path, name: &RoleName) -> Outcome {
    let path = create(directory, name).map_err(|error| {
        let what = format!("cannot make a role in {}", directory.display());
        CommandFailure::failed(anyhow::Error::new(error).context(what))
    })?;
    print(&format!("{}\n", path.display()))?;
    Ok(CommandExit::Success)
}

/// A name that means nothing is a mistake of the command line; a file that means nothing is
/// a failed task.
fn refused(error: RoleError) -> CommandFailure {
    match error {
        RoleError::BadName(_) | RoleError::Unknown { .. } | RoleError::UnknownPersona { .. } => {
            CommandFailure::usage(error.to_string())
        }
        RoleError::Ambiguous { .. }
        | RoleError::FileName { .. }
        | RoleError::BuiltIn { .. }
        | RoleError::Place { .. }
        | RoleError::Crowded { .. }
        | RoleError::Read { .. }
        | RoleError::UnknownName(_)
        | RoleError::Invalid(_) => CommandFailure::failed(error),
    }
}
