//! `troupe trust`: agrees to a project's settings as they are.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value as Json;
use troupe_config::KeyPath;

use crate::commands::print;
use crate::config_file::{ConfigFile, Merge, set};
use crate::failure::{Exit, Failure, Outcome};
use crate::home::{Home, here, repository_root};
use crate::trust::{TrustLedger, trusted_of};

#[derive(Debug, Args)]
#[command(
    after_help = "A trusted project's .troupe/config.toml and .troupe/rules.toml count: hooks, servers and rules that
allow, which run programs outside of the sandbox. Read them first. Trust covers them as they are now:
when one comes or changes, by a pull or by a command of an agent, it does not count until you run
this again. To take trust back, remove the project from [projects] in $TROUPE_HOME/config.toml."
)]
pub struct TrustArguments {
    /// The project, or a directory of it [default: the repository, else the working directory]
    directory: Option<PathBuf>,
}

pub fn run(arguments: TrustArguments) -> Outcome {
    let home = Home::find()?;
    let directory = match arguments.directory {
        Some(directory) => directory.canonicalize().map_err(|error| {
            Failure::usage(format!(
                "{} cannot be trusted: {error}",
                directory.display()
            ))
        })?,
        None => {
            let cwd = here()?;
            repository_root(&cwd).unwrap_or(&cwd).to_owned()
        }
    };
    let top = repository_root(&directory).unwrap_or(&directory);
    let mut directories: Vec<_> = directory
        .ancestors()
        .take_while(|it| it.starts_with(top))
        .collect();
    directories.reverse();
    let project = match trusted_of(&home.config_file(), &directories) {
        Some(project) => project,
        None => {
            let mut config = ConfigFile::take(&home.config_file())?;
            let mut document = config.document()?;
            let key = KeyPath::from(["projects", &*directory.to_string_lossy(), "trust_level"]);
            set(&mut document, &key, &Json::from("trusted"), Merge::Upsert)
                .map_err(Failure::usage)?;
            config.write(&document)?;
            &directory
        }
    };
    let recorded = TrustLedger::at(&home).record(project, &directories)?;
    let mut text = format!(
        "{} is trusted, with its settings as they are now:\n",
        project.display()
    );
    for (file, digest) in recorded {
        let state = match digest {
            Some(digest) => format!("sha256 {}", &digest[..16.min(digest.len())]),
            None => "there is none".to_owned(),
        };
        text.push_str(&format!("  {}  ({state})\n", file.display()));
    }
    print(&text)?;
    Ok(Exit::Success)
}
