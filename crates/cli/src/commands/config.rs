//! `troupe config`: every effective setting, and who set it.

use clap::Args;
use serde_json::json;
use troupe_config::{Entry, KeyPath, Place, Value, check_key};
use troupe_tools::{has_secret_name, holds_credentials};

use crate::arguments::{Layers, Overrides};
use crate::commands::{print, tell};
use crate::failure::{Exit, Failure, Outcome};
use crate::home::{Home, here};
use crate::layers::{ConfigSource, Loaded};
use crate::settings::{self, Deprecated, Settings};

#[derive(Debug, Args)]
#[command(
    after_help = "Layers, later ones win: built-in defaults, $TROUPE_HOME/config.toml,
.troupe/config.toml of a trusted project (from the repository root down), the profile, -c.

Examples:
  troupe config                          everything, with file and line
  troupe -p work config sandbox_mode     one key, with a profile
  troupe config --schema                 the JSON Schema of config.toml, for editors"
)]
pub struct ConfigArguments {
    /// Only keys that begin with this one.
    pub key: Option<String>,
    /// One JSON object per setting.
    #[arg(long)]
    pub json: bool,
    /// Print the JSON Schema of `config.toml` instead.
    #[arg(long, conflicts_with_all = ["key", "json"])]
    pub schema: bool,
    #[command(flatten)]
    pub overrides: Overrides,
}

pub fn run(arguments: ConfigArguments, overrides: Overrides, layers: Layers) -> Outcome {
    if arguments.schema {
        print(&format!("{:#}\n", settings::schema()))?;
        return Ok(Exit::Success);
    }
    let prefix = match &arguments.key {
        None => KeyPath::root(),
        Some(text) => KeyPath::parse(text)
            .ok_or_else(|| Failure::usage(format!("{text:?} is not a dotted key")))?,
    };
    let source = ConfigSource {
        home: Home::find()?,
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    let cwd = here()?;
    let Loaded { config, warnings } = source.load(&cwd)?;
    for warning in &warnings {
        tell(&format!("warning: {warning}"));
    }
    for deprecated in Deprecated::find(&config) {
        tell(&format!("deprecated: {deprecated}"));
    }
    let shown: Vec<(KeyPath, &Entry)> = config
        .settings()
        .into_iter()
        .filter(|(key, _)| key.parts().starts_with(prefix.parts()))
        .collect();
    if shown.is_empty() {
        check_key(&settings::schema(), &prefix)
            .map_err(|unknown| Failure::usage(unknown.to_string()))?;
        tell(&format!("{prefix} is not set"));
    }
    let text = if arguments.json {
        as_json(&shown)
    } else {
        as_toml(&shown)
    };
    print(&text)?;
    // Shown first, so that the line of a bad value can be found in the list.
    let settings = Settings::read(&config)?;
    let provider = &settings.model.model_provider;
    let written = config.find(&KeyPath::from(["model_provider"]));
    if written.and_then(Entry::as_str) != Some(provider) {
        tell(&format!(
            "model_provider is {provider:?} in effect: nobody set it, and that is where the \
             catalogue has the model"
        ));
    }
    Ok(Exit::Success)
}

/// Writes settings as they are shown: each with where it comes from, and none that is a secret.
pub fn as_toml(settings: &[(KeyPath, &Entry)]) -> String {
    let lines: Vec<(String, String)> = settings
        .iter()
        .map(|(key, entry)| (format!("{key} = {}", value(key, entry)), origin(key, entry)))
        .collect();
    let width = lines
        .iter()
        .map(|(left, _)| left.chars().count())
        .max()
        .unwrap_or_default()
        .min(64);
    let lines: Vec<String> = lines
        .iter()
        .map(|(left, right)| format!("{left:width$}  # {right}\n"))
        .collect();
    lines.concat()
}

fn as_json(settings: &[(KeyPath, &Entry)]) -> String {
    let line = |(key, entry): &(KeyPath, &Entry)| {
        let (file, line) = match &entry.origin.place {
            Place::File { path, line } => (Some(path.display().to_string()), Some(line)),
            Place::BuiltIn | Place::CommandLine(_) => (None, None),
        };
        let object = json!({
            "key": key.to_string(),
            "value": if is_secret(key, entry) { json!(HIDDEN) } else { json!(entry.value) },
            "layer": entry.origin.layer.as_str(),
            "file": file,
            "line": line,
        });
        format!("{object}\n")
    };
    settings.iter().map(line).collect()
}

/// Stands for a value that is nobody's business.
pub const HIDDEN: &str = "…";

fn value(key: &KeyPath, entry: &Entry) -> String {
    if is_secret(key, entry) {
        return format!("\"{HIDDEN}\"");
    }
    entry.value.to_string()
}

fn origin(key: &KeyPath, entry: &Entry) -> String {
    match &entry.origin.place {
        // The argument holds the value.
        Place::CommandLine(_) if is_secret(key, entry) => "command line".to_owned(),
        _ => entry.origin.to_string(),
    }
}

/// Headers, query parameters and environments are where people put tokens, and addresses are
/// where they put passwords.
pub fn is_secret(key: &KeyPath, entry: &Entry) -> bool {
    let parts = key.parts();
    let named = |name: &str| parts.iter().any(|part| part == name);
    named("http_headers")
        || named("query_params")
        || named("env")
        || (named("shell_environment_policy") && named("set"))
        || match &entry.value {
            Value::String(text) => holds_credentials(text),
            Value::Array(words) => words.iter().any(is_secret_word),
            _ => false,
        }
}

/// Tells whether an argument of a program holds a secret, or says that the next one does.
fn is_secret_word(word: &Entry) -> bool {
    let Value::String(word) = &word.value else {
        return false;
    };
    let option = word.strip_prefix("--").map(|option| {
        let name = option.split_once('=').map_or(option, |(name, _)| name);
        name.replace('-', "_").to_uppercase()
    });
    holds_credentials(word) || option.is_some_and(|name| has_secret_name(&name))
}
