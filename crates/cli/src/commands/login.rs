//! `troupe login` and `troupe logout`: the keys of providers.

mod hidden_line;

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Read as _};

use clap::Args;

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::commands::print;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here};
use crate::keys::KeyFile;
use crate::layers::ConfigSource;
use crate::provider::{KeySource, key_source, needs_key, provider};
use crate::settings::Settings;

/// The most that is taken for a key.
const KEY_BYTES_MAX: u64 = 16 * 1024;

#[derive(Debug, Args)]
#[command(
    after_help = "The key is typed at the terminal, where it is not shown, or read from stdin. It is kept in
$TROUPE_HOME/keys.toml, which only you can read; commands of agents do not see it. A key in the
provider's environment variable comes before a stored one.

Examples:
  troupe login                            which providers have a key, and where from
  troupe login anthropic
  pass show openai | troupe login openai"
)]
pub struct LoginArguments {
    /// Whose key to store; without it, tells which providers have one.
    provider: Option<String>,
}

#[derive(Debug, Args)]
pub struct LogoutArguments {
    /// Whose stored key to delete.
    provider: String,
}

pub fn login(
    arguments: LoginArguments,
    overrides: ConfigOverrides,
    layers: LayerSelection,
) -> Outcome {
    let home = TroupeHome::find()?;
    let source = ConfigSource {
        home: home.clone(),
        overrides,
        layers,
        flags: Vec::new(),
    };
    let settings = Settings::read(&source.load(&here()?)?.config)?;
    let keys = KeyFile::of(&home);
    let Some(id) = arguments.provider else {
        return status(&settings, &keys);
    };
    let provider = provider(&settings, &id).ok_or_else(|| unknown(&settings, &id))?;
    if !needs_key(&provider) {
        return Err(CommandFailure::usage(format!(
            "{id} needs no key; use it with -c model_provider={id}"
        )));
    }
    let key = read_key(&id)?;
    keys.set(&id, &key)?;
    let mut told = format!("The key for {id} is stored in {}.\n", keys.path().display());
    if let Ok(Some(KeySource::Variable(name))) = key_source(&provider, &id, Some(&keys)) {
        writeln!(told, "{name} is set and comes before it.")
            .expect("writing to a string does not fail");
    }
    print(&told)?;
    Ok(CommandExit::Success)
}

pub fn logout(arguments: &LogoutArguments) -> Outcome {
    let keys = KeyFile::of(&TroupeHome::find()?);
    let id = &arguments.provider;
    if !keys.remove(id)? {
        let path = keys.path().display();
        return Err(CommandFailure::usage(format!(
            "no key is stored for {id} in {path}; `troupe login` shows which there are"
        )));
    }
    print(&format!("The stored key for {id} is deleted.\n"))?;
    Ok(CommandExit::Success)
}

fn status(settings: &Settings, keys: &KeyFile) -> Outcome {
    let mut rows = String::new();
    for id in settings.model.model_providers.keys() {
        let Some(provider) = provider(settings, id) else {
            continue;
        };
        let source = key_source(&provider, id, Some(keys)).map_err(CommandFailure::failed)?;
        let told = match source {
            Some(source) => source.to_string(),
            None if needs_key(&provider) => format!("no key; run: troupe login {id}"),
            None => "needs no key".to_owned(),
        };
        writeln!(rows, "{id:12} {told}").expect("writing to a string does not fail");
    }
    print(&rows)?;
    Ok(CommandExit::Success)
}

fn unknown(settings: &Settings, id: &str) -> CommandFailure {
    let known: Vec<&str> = settings
        .model
        .model_providers
        .keys()
        .map(String::as_str)
        .collect();
    CommandFailure::usage(format!(
        "there is no model provider {id:?}; known are {}",
        known.join(", ")
    ))
}

fn read_key(id: &str) -> Result<String, CommandFailure> {
    let typed = if io::stdin().is_terminal() {
        hidden_line::read(&format!("Key for {id} (it is not shown): "))?
    } else {
        let mut text = String::new();
        let mut piped = io::stdin().lock().take(KEY_BYTES_MAX);
        piped
            .read_to_string(&mut text)
            .map_err(CommandFailure::failed)?;
        text
    };
    let key = typed.trim();
    if key.is_empty() {
        return Err(CommandFailure::usage(
            "no key was given, and nothing is changed",
        ));
    }
    if key.chars().any(|it| it.is_whitespace() || it.is_control()) {
        return Err(CommandFailure::usage(
            "a key has no spaces and no line breaks; nothing is changed",
        ));
    }
    Ok(key.to_owned())
}
