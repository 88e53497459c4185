//! `troupe trust`: agrees to a project's settings as they are.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value as Json;
use troupe_config::KeyPath;

use crate::commands::print;
use crate::config_file::{ConfigFileEditor, TableMerge, set};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here, repository_root};
use crate::trust::{TrustLedger, trusted_of};

#[derive(Debug, Args)]
#[command(
    after_help = "A trusted project's .troupe/config.toml, .troupe/rules.toml and .mcp.json count: hooks, servers and
rules that allow, which run programs outside of the sandbox. Read them first. Trust covers them as they are now:
when one comes or changes, by a pull or by a command of an agent, it does not count until you run
this again. To take trust back, remove the project from [projects] in $TROUPE_HOME/config.toml."
)]
pub struct TrustArguments {
    /// The project, or a directory of it [default: the repository, else the working directory]
    directory: Option<PathBuf>,
}

pub fn run(arguments: TrustArguments) -> Outcome {
    let home = TroupeHome::find()?;
    let directory = chosen(arguments.directory)?;
    let top = repository_root(&directory).unwrap_or(&directory);
    let mut directories: Vec<&Path> = directory
        .ancestors()
        .take_while(|it| it.starts_with(top))
        .collect();
    directories.reverse();
    let project = trusted_of(&home.config_file(), &directories);
    if project.is_none() {
        configure(&home, &directory)?;
    }
    let project = project.unwrap_or(&directory);
    let recorded = TrustLedger::at(&home).record(project, &directories)?;
    let files = recorded.iter().map(|(file, digest)| {
        let state = digest
            .as_deref()
            .map_or("there is none", |_| "as it is now");
        format!("  {}  ({state})\n", file.display())
    });
    let files: String = files.collect();
    let project = project.display();
    print(&format!(
        "{project} is trusted, with its settings as they are now:\n{files}"
    ))?;
    Ok(CommandExit::Success)
}

fn chosen(directory: Option<PathBuf>) -> Result<PathBuf, CommandFailure> {
    if let Some(directory) = directory {
        return directory.canonicalize().map_err(|error| {
            CommandFailure::usage(format!(
                "{} cannot be trusted: {error}",
                directory.display()
            ))
        });
    }
    let cwd = here()?;
    Ok(repository_root(&cwd).unwrap_or(&cwd).to_owned())
}

/// Adds the project to those that the user's configuration trusts.
fn configure(home: &TroupeHome, directory: &Path) -> Result<(), CommandFailure> {
    let mut config = ConfigFileEditor::take(&home.config_file())?;
    let mut document = config.document()?;
    let key = KeyPath::from(["projects", &*directory.to_string_lossy(), "trust_level"]);
    set(
        &mut document,
        &key,
        &Json::from("trusted"),
        TableMerge::Upsert,
    )
    .map_err(CommandFailure::usage)?;
    config.write(&document)
}
