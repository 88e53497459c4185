//! Secrets that must not reach the diagnostic log or a report, whoever writes them there.
//!
//! Troupe's own events name no secret. This is the second line of defence: libraries may be logged
//! too, and an error from outside may repeat what it was sent.

use std::collections::BTreeSet;
use std::env;
use std::sync::{PoisonError, RwLock};

use troupe_config::{Config, ConfigEntry, ConfigValue};
use troupe_tools::{has_secret_name, holds_credentials};

use crate::commands::config::{HIDDEN, is_secret};
use crate::limits::HIDDEN_SECRET_BYTES_MIN;

/// Longest first, so that a secret that contains another one is hidden whole.
static SECRETS: RwLock<Vec<String>> = RwLock::new(Vec::new());

/// Hides what variables hold that most likely is a secret.
pub fn hide_environment() {
    let variables = env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.to_str()?, value.to_str()?);
        (has_secret_name(name) || holds_credentials(value)).then(|| value.to_owned())
    });
    hide(variables);
}

/// Hides what the configuration holds that is a secret.
pub fn hide_configured(config: &Config) {
    let mut secrets = Vec::new();
    for (key, entry) in config.settings() {
        if is_secret(&key, entry) {
            texts(entry, &mut secrets);
        }
    }
    hide(secrets);
}

/// Returns a text in which every known secret is replaced.
pub fn without_secrets(text: &str) -> String {
    let secrets = SECRETS.read().unwrap_or_else(PoisonError::into_inner);
    let mut hidden = text.to_owned();
    for secret in secrets.iter() {
        if hidden.contains(secret) {
            hidden = hidden.replace(secret, HIDDEN);
        }
    }
    hidden
}

fn hide(found: impl IntoIterator<Item = String>) {
    let mut secrets = SECRETS.write().unwrap_or_else(PoisonError::into_inner);
    let mut all: BTreeSet<String> = secrets.drain(..).collect();
    for value in found {
        // Of `Bearer KEY` the key alone may appear.
        all.extend(value.split_whitespace().next_back().map(ToOwned::to_owned));
        all.insert(value);
    }
    // A short value is no secret, and may be a word of any line.
    secrets.extend(
        all.into_iter()
            .filter(|it| it.len() >= HIDDEN_SECRET_BYTES_MIN),
    );
    secrets.sort_by_key(|it| std::cmp::Reverse(it.len()));
}

fn texts(entry: &ConfigEntry, found: &mut Vec<String>) {
    match &entry.value {
        ConfigValue::String(text) => found.push(text.clone()),
        ConfigValue::Array(entries) => entries.iter().for_each(|entry| texts(entry, found)),
        _ => {}
    }
}
