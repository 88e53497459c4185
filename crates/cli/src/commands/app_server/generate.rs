//! The types of the app-server as files, for clients in other languages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use troupe_app_server::schema;

use crate::failure::{CommandExit, CommandFailure, Outcome};

#[derive(Debug, Subcommand)]
pub enum GenerateCommand {
    /// Write the types as TypeScript.
    GenerateTs(GenerateArguments),
    /// Write the types as JSON Schema: one file with all, and one file each in `v2`.
    GenerateJsonSchema(GenerateArguments),
}

#[derive(Debug, Args)]
pub struct GenerateArguments {
    /// The directory to write to; made if it is not there
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Include what may still change, which is always the case
    #[arg(long, hide = true)]
    experimental: bool,
}

impl GenerateCommand {
    pub fn run(&self) -> Outcome {
        match self {
            Self::GenerateTs(place) => {
                write(&place.out.join("troupe-app-server.ts"), schema::TYPESCRIPT)?;
            }
            Self::GenerateJsonSchema(place) => {
                let all = place.out.join("troupe-app-server.schema.json");
                write(&all, schema::JSON_SCHEMA)?;
                for (name, schema) in schema::json_schemas() {
                    let text = format!("{schema:#}\n");
                    write(&place.out.join("v2").join(format!("{name}.json")), &text)?;
                }
            }
        }
        Ok(CommandExit::Success)
    }
}

fn write(path: &Path, text: &str) -> Result<(), CommandFailure> {
    let written = path
        .parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| fs::write(path, text));
    written
        .with_context(|| format!("cannot write {}", path.display()))
        .map_err(CommandFailure::failed)
}
