//! `troupe roles`: the kinds of children that there are.

mod show;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use troupe_agents::roles::{
    Broken, Catalogue, Error, Name, Roles, TypeChoices, create, project_directory,
};

use crate::arguments::{Layers, Overrides};
use crate::commands::{print, tell};
use crate::failure::{Exit, Failure, Outcome};
use crate::home::{Home, here, repository_root, user_home};
use crate::layers::{ConfigSource, Loaded};
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
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
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

pub fn run(arguments: RolesArguments, overrides: Overrides, layers: Layers) -> Outcome {
    let home = Home::find()?;
    let cwd = here()?;
    let source = ConfigSource {
        home: home.clone(),
        overrides,
        layers,
        flags: Vec::new(),
    };
    let Loaded { config, warnings } = source.load(&cwd)?;
    for warning in &warnings {
        tell(&format!("warning: {warning}"));
    }
    let settings = Settings::read(&config)?;
    let servers = ConfiguredNames::of(&settings.integrations);
    let types = settings.agents.types();
    let roles = Roles::new(home.path())
        .with_user_home(user_home())
        .with_servers(servers);
    match arguments.action {
        Action::List { json } => list(&roles.catalogue(&cwd), &types, json),
        Action::Show { name, persona } => {
            let role = roles.resolve(&cwd, &name).map_err(refused)?;
            let persona = persona
                .map(|name| role.persona(&name))
                .transpose()
                .map_err(refused)?;
            let configured = types.of(&role).cloned().unwrap_or_default();
            let as_configured = types.applied_to(Arc::clone(&role));
            print(&show::details(&as_configured, persona, &configured))?;
            Ok(Exit::Success)
        }
        Action::Check { roles: named } if named.is_empty() => check_all(&roles.catalogue(&cwd)),
        Action::Check { roles: named } => check(&roles, &cwd, &named),
        Action::New { name, user } => {
            let name = Name::parse(&name).map_err(|error| refused(error.into()))?;
            let directory = if user {
                home.path().join("agents")
            } else {
                project_directory(repository_root(&cwd).unwrap_or(&cwd))
            };
            new(&directory, &name)
        }
    }
}

fn list(catalogue: &Catalogue, types: &TypeChoices, json: bool) -> Outcome {
    let Catalogue { roles, broken } = catalogue;
    if json {
        let roles = roles.iter().map(|role| types.applied_to(Arc::clone(role)));
        let roles = roles.map(|role| show::json_line(&role));
        let lines: Vec<String> = roles.chain(broken.iter().map(show::broken_json)).collect();
        print(&lines.concat())?;
    } else {
        print(&show::table(roles))?;
        report(broken);
    }
    Ok(Exit::Success)
}

fn check_all(catalogue: &Catalogue) -> Outcome {
    report(&catalogue.broken);
    let (usable, broken) = (catalogue.roles.len(), catalogue.broken.len());
    let noun = if usable == 1 { "role" } else { "roles" };
    print(&format!("{usable} {noun} can be used, {broken} cannot\n"))?;
    Ok(verdict(broken))
}

fn check(roles: &Roles, cwd: &Path, named: &[PathBuf]) -> Outcome {
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
            Err(error) => broken.push(Broken {
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
    Name::parse(name).is_ok().then_some(name)
}

fn report(broken: &[Broken]) {
    for Broken { error, .. } in broken {
        tell(&format!("broken: {error}"));
    }
}

fn verdict(broken: usize) -> Exit {
    match broken {
        0 => Exit::Success,
        _ => Exit::Failed,
    }
}

fn new(directory: &Path, name: &Name) -> Outcome {
    let path = create(directory, name).map_err(|error| {
        let what = format!("cannot make a role in {}", directory.display());
        Failure::failed(anyhow::Error::new(error).context(what))
    })?;
    print(&format!("{}\n", path.display()))?;
    Ok(Exit::Success)
}

/// A name that means nothing is a mistake of the command line; a file that means nothing is
/// a failed task.
fn refused(error: Error) -> Failure {
    match error {
        Error::BadName(_) | Error::Unknown { .. } | Error::UnknownPersona { .. } => {
            Failure::usage(error.to_string())
        }
        Error::Ambiguous { .. }
        | Error::FileName { .. }
        | Error::BuiltIn { .. }
        | Error::Place { .. }
        | Error::Crowded { .. }
        | Error::Read { .. }
        | Error::UnknownName(_)
        | Error::Invalid(_) => Failure::failed(error),
    }
}
