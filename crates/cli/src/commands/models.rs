//! `troupe models`: which models there are to choose from.

use clap::Args;
use troupe_config::{ConfigFlag, KeyPath};
use troupe_model::catalogue;
use troupe_protocol::catalogue::ModelEntry;

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::{block_on, print, tell};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here};
use crate::layers::{ConfigSource, LoadedConfig};
use crate::provider::{ModelSetupError, ProcessModels};
use crate::settings::Settings;

#[derive(Debug, Args)]
#[command(
    after_help = "Lists what comes with the program, or with --refresh what the provider says it serves. A
provider that does not answer is no failure: the built-in list is printed, and why on stderr.
A star marks the model that is used unless another is chosen (`-m`, or the key model), brackets
the effort that a model has by itself. A model that is not listed can be used too; where nobody
knows its context window, its server is asked, and else it is the server that says what fits.

Examples:
  troupe models
  troupe models --refresh --provider ollama
  troupe models --json | jq -r 'select(.images).model'"
)]
pub struct ModelsArguments {
    /// One JSON object per model.
    #[arg(long)]
    json: bool,
    /// Ask the provider which models it serves.
    #[arg(long)]
    refresh: bool,
    /// With --refresh: ask this provider, not the configured one.
    #[arg(long, value_name = "NAME", requires = "refresh")]
    provider: Option<String>,
    #[command(flatten)]
    overrides: ConfigOverrides,
}

pub fn run(
    arguments: ModelsArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let ModelsArguments {
        json,
        refresh,
        provider,
        overrides: further,
    } = arguments;
    let chosen = provider.map(|value| ConfigFlag {
        name: "--provider",
        key: KeyPath::from(["model_provider"]),
        value,
    });
    let home = TroupeHome::find()?;
    let source = ConfigSource {
        home: home.clone(),
        overrides: overrides.then(further),
        layers,
        flags: chosen.into_iter().collect(),
    };
    let cwd = here()?;
    let LoadedConfig { config, warnings } = source.load(&cwd)?;
    for warning in &warnings {
        tell(&format!("warning: {warning}"));
    }
    let settings = Settings::read(&config)?;
    let models = if refresh {
        asked(&settings, &home)?
    } else {
        catalogue::entries()
    };
    let models = catalogue::with_default(models, &settings.model.model);
    print(&if json { lines(&models) } else { table(&models) })?;
    Ok(CommandExit::Success)
}

/// Returns what the provider serves; without its answer, what we know ourselves. A provider
/// that does not exist is a mistake of the command line.
fn asked(settings: &Settings, home: &TroupeHome) -> Result<Vec<ModelEntry>, CommandFailure> {
    let id = &settings.model.model_provider;
    let why = match ProcessModels::of(home).get(settings, id) {
        Ok(model) => match block_on(async { Ok(model.models().await) })? {
            Ok(models) => return Ok(models),
            Err(error) => error.message,
        },
        Err(ModelSetupError::Connect(error)) => error.to_string(),
        Err(trouble) => return Err(CommandFailure::not_started(trouble)),
    };
    tell(&format!("this is the built-in list: {why}"));
    Ok(catalogue::entries())
}

fn lines(models: &[ModelEntry]) -> String {
    let line = |entry| serde_json::to_string(entry).expect("a table of text and numbers is JSON");
    models.iter().map(|entry| line(entry) + "\n").collect()
}

fn table(models: &[ModelEntry]) -> String {
    let names: Vec<String> = models.iter().map(|entry| shown(&entry.model)).collect();
    let width = names.iter().map(|name| name.chars().count()).max();
    let width = width.unwrap_or_default();
    let row = |(entry, name): (&ModelEntry, &String)| {
        let mark = if entry.is_default { '*' } else { ' ' };
        let window = match entry.context_window {
            Some(tokens) => format!("{tokens} tokens"),
            None => "window not known".to_owned(),
        };
        let row = format!("{mark} {name:width$}  {window:>16}  {}", efforts(entry));
        row.trim_end().to_owned() + "\n"
    };
    models.iter().zip(&names).map(row).collect()
}

/// The efforts that a model takes, its own one in brackets.
fn efforts(entry: &ModelEntry) -> String {
    let effort = |effort| {
        if entry.default_effort == Some(effort) {
            format!("[{}]", effort.as_str())
        } else {
            effort.as_str().to_owned()
        }
    };
    let efforts: Vec<String> = entry.efforts.iter().copied().map(effort).collect();
    efforts.join(" ")
}

/// A server's name for a model, without what would move the terminal's cursor.
fn shown(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control()).collect()
}
