//! Finds the layers of configuration for a working directory.

use std::path::{Path, PathBuf};

use troupe_config::{Config, ConfigFlag, ConfigInputs, UnknownKey, ValuePlace, load};
use troupe_tools::rules::{ProjectTrust, RuleSource};

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::failure::CommandFailure;
use crate::home::{TroupeHome, repository_root};
use crate::settings::{self, defaults};
use crate::trust::{PROJECT_RULES, TrustLedger};
use crate::unknown_types::UnknownTypes;

/// Everything but the working directory, which a client may choose later.
#[derive(Debug, Clone)]
pub struct ConfigSource {
    pub home: TroupeHome,
    pub overrides: ConfigOverrides,
    pub layers: LayerSelection,
    /// Flags that stand for keys, such as `--model`.
    pub flags: Vec<ConfigFlag>,
}

/// A configuration, and what a person should know about it.
#[derive(Debug)]
pub struct LoadedConfig {
    pub config: Config,
    pub warnings: Vec<String>,
}

impl ConfigSource {
    /// Reads the configuration that holds in `cwd`.
    pub fn load(&self, cwd: &Path) -> Result<LoadedConfig, CommandFailure> {
        self.load_trying(cwd, None)
    }

    /// Reads the configuration that would hold in `cwd` if the user's file held this text.
    pub fn load_trying(
        &self,
        cwd: &Path,
        user_text: Option<&str>,
    ) -> Result<LoadedConfig, CommandFailure> {
        let user_file: Option<PathBuf> =
            (!self.layers.ignore_user_config).then(|| self.home.config_file());
        let ledger = TrustLedger::at(&self.home);
        let ConfigOverrides { config, of_client } = &self.overrides;
        let arguments = [config.as_slice(), of_client].concat();
        let config = load(&ConfigInputs {
            defaults: defaults(),
            user_file: user_file.as_deref(),
            user_text,
            cwd: Some(cwd),
            repository_root: repository_root(cwd),
            profile: self.layers.profile.as_deref(),
            arguments: &arguments,
            flags: &self.flags,
            consent: Some(&ledger),
            variables: Some(|name| std::env::var(name).ok()),
        })?;
        let unknown = unknown_keys(&config);
        // Who types a key means something by it; files and clients may be older or newer than we
        // are.
        let is_refused = |key: &&UnknownKey| self.layers.strict_config || self.is_typed(key);
        let mut refused: Vec<String> = unknown.iter().filter(is_refused).map(named).collect();
        let types = UnknownTypes::find(&config, self.home.path(), cwd);
        refused.extend(types.said_now);
        if self.layers.strict_config {
            refused.extend(types.written.iter().cloned());
        }
        if !refused.is_empty() {
            return Err(CommandFailure::usage(refused.join(
                "
",
            )));
        }
        let unknown = unknown.iter().map(named);
        let notices = config.notices().iter().map(ToString::to_string);
        let warnings = unknown.chain(types.written);
        let warnings = warnings.chain(ledger.problem()).chain(notices);
        let warnings = warnings.collect();
        Ok(LoadedConfig { config, warnings })
    }

    /// Tells whether a person gave this key with `-c`.
    fn is_typed(&self, unknown: &UnknownKey) -> bool {
        let ValuePlace::CommandLine(place) = &unknown.origin.place else {
            return false;
        };
        let given = place.strip_prefix("-c ");
        given.is_some_and(|given| self.overrides.config.iter().any(|it| it == given))
    }

    /// Returns where the rules about commands in `cwd` are written.
    pub fn rules(&self, cwd: &Path, config: &Config) -> RuleSource {
        if self.layers.ignore_rules {
            return RuleSource::default();
        }
        let top = repository_root(cwd).unwrap_or(cwd);
        let mut directories: Vec<&Path> = cwd
            .ancestors()
            .take_while(|directory| directory.starts_with(top))
            .collect();
        directories.reverse();
        let user = self.home.rules_file();
        let projects: Vec<PathBuf> = directories
            .iter()
            .map(|directory| directory.join(PROJECT_RULES))
            // The user's home directory may itself be a project.
            .filter(|file| *file != user)
            .collect();
        let trust = if is_trusted(config, &directories) {
            ProjectTrust::Trusted(TrustLedger::at(&self.home).digests(&projects))
        } else {
            ProjectTrust::Untrusted
        };
        RuleSource {
            projects,
            trust,
            user: Some(user),
        }
    }
}

/// Tells whether the user trusts one of these directories. A project's own files cannot say
/// so: what they write about projects was left out.
fn is_trusted(config: &Config, directories: &[&Path]) -> bool {
    let settings = config.settings();
    settings.iter().any(|(key, entry)| match key.parts() {
        [projects, directory, level] => {
            let is_ours = directories.contains(&Path::new(directory));
            let is_level = projects == "projects" && level == "trust_level";
            is_ours && is_level && entry.as_str() == Some("trusted")
        }
        _ => false,
    })
}

fn named(key: &UnknownKey) -> String {
    key.to_string()
}

fn unknown_keys(config: &Config) -> Vec<UnknownKey> {
    // The schema is made only when there is something to check with it.
    if !config.is_customised() {
        return Vec::new();
    }
    config.unknown_keys(&settings::schema())
}
