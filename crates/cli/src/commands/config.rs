//! `troupe config`: every effective setting, and who set it.

use clap::Args;
use serde_json::json;
use troupe_config::{ConfigEntry, ConfigValue, KeyPath, ValuePlace, check_key};
use troupe_tools::{has_secret_name, holds_credentials};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::{print, tell};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here};
use crate::layers::{ConfigSource, LoadedConfig};
use crate::settings::{self, DeprecatedSetting, Settings};

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
    pub overrides: ConfigOverrides,
}

pub fn run(
    arguments: ConfigArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    if arguments.schema {
        print(&format!("{:#}\n", settings::schema()))?;
        return Ok(CommandExit::Success);
    }
    let prefix = match &arguments.key {
        None => KeyPath::root(),
        Some(text) => KeyPath::parse(text)
            .ok_or_else(|| CommandFailure::usage(format!("{text:?} is not a dotted key")))?,
    };
    let source = ConfigSource {
        home: TroupeHome::find()?,
        overrides: overrides.then(arguments.overrides),
        layers,
        flags: Vec::new(),
    };
    let cwd = here()?;
    let LoadedConfig { config, warnings } = source.load(&cwd)?;
    for warning in &warnings {
        tell(&format!("warning: {warning}"));
    }
    for deprecated in DeprecatedSetting::find(&config) {
        tell(&format!("deprecated: {deprecated}"));
    }
    let shown: Vec<(KeyPath, &ConfigEntry)> = config
        .settings()
        .into_iter()
        .filter(|(key, _)| key.parts().starts_with(prefix.parts()))
        .collect();
    if shown.is_empty() {
        check_key(&settings::schema(), &prefix)
            .map_err(|unknown| CommandFailure::usage(unknown.to_string()))?;
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
    if written.and_then(ConfigEntry::as_str) != Some(provider) {
        tell(&format!(
            "model_provider is {provider:?} in effect: nobody set it, and that is where the \
             catalogue has the model"
        ));
    }
    Ok(CommandExit::Success)
}

/// Writes settings as they are shown: each with where it comes from, and none that is a secret.
pub fn as_toml(settings: &[(KeyPath, &ConfigEntry)]) -> String {
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

fn as_json(settings: &[(KeyPath, &ConfigEntry)]) -> String {
    let line = |(key, entry): &(KeyPath, &ConfigEntry)| {
        let (file, line) = match &entry.origin.place {
            ValuePlace::File { path, line } => (Some(path.display().to_string()), Some(line)),
            ValuePlace::BuiltIn | ValuePlace::CommandLine(_) => (None, None),
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

fn value(key: &KeyPath, entry: &ConfigEntry) -> String {
    if is_secret(key, entry) {
        return format!("\"{HIDDEN}\"");
    }
    entry.value.to_string()
}

fn origin(key: &KeyPath, entry: &ConfigEntry) -> String {
    match &entry.origin.place {
        // The argument holds the value.
        ValuePlace::CommandLine(_) if is_secret(key, entry) => "command line".to_owned(),
        _ => entry.origin.to_string(),
    }
}

/// Headers, query parameters and environments are where people put tokens, and addresses are
/// where they put passwords.
pub fn is_secret(key: &KeyPath, entry: &ConfigEntry) -> bool {
    let parts = key.parts();
    let named = |name: &str| parts.iter().any(|part| part == name);
    named("http_headers")
        || named("query_params")
        || named("env")
        || (named("shell_environment_policy") && named("set"))
        || match &entry.value {
            ConfigValue::String(text) => holds_credentials(text),
            ConfigValue::Array(words) => words.iter().any(is_secret_word),
            _ => false,
        }
}

/// Tells whether an argument of a program holds a secret, or says that the next one does.
fn is_secret_word(word: &ConfigEntry) -> bool {
    let ConfigValue::String(word) = &word.value else {
        return false;
    };
    let option = word.strip_prefix("--").map(|option| {
        let name = option.split_once('=').map_or(option, |(name, _)| name);
        name.replace('-', "_").to_uppercase()
    });
    holds_credentials(word) || option.is_some_and(|name| has_secret_name(&name))
}
