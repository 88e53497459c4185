//! Finds the layers, decides which of them count, and lays one over the other.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::argument::{self, ConfigFlag};
use crate::entry::{ConfigEntry, ConfigValue, Table, ValueLayer, ValueOrigin, ValuePlace};
use crate::error::{BadValue, ConfigError};
use crate::key::KeyPath;
use crate::limits::FILE_BYTES_MAX;
use crate::mcp_json::{self, MCP_JSON};
use crate::parse::{parse_defaults, parse_file};
use crate::read::read;
use crate::unknown_keys::{UnknownKey, unknown_keys};

/// Where a project keeps its settings, below each directory from the root down.
const PROJECT_FILE: &str = ".troupe/config.toml";

/// The table of MCP servers.
const MCP_SERVERS: &str = "mcp_servers";

/// Everything a configuration is made of.
#[derive(Debug, Clone, Default)]
pub struct ConfigInputs<'a> {
    /// TOML, built into the program.
    pub defaults: &'a str,
    /// May be absent on disk.
    pub user_file: Option<&'a Path>,
    /// What the user's file is to hold, in place of what it does: a change can be tried so.
    pub user_text: Option<&'a str>,
    pub cwd: Option<&'a Path>,
    /// The directory that holds `.git`, at or above `cwd`.
    pub repository_root: Option<&'a Path>,
    /// The profile chosen on the command line; else the key `profile` chooses.
    pub profile: Option<&'a str>,
    /// `key=value` texts, later ones win.
    pub arguments: &'a [String],
    pub flags: &'a [ConfigFlag],
    /// What the user has agreed to of a trusted project; without it, to whatever is there.
    pub consent: Option<&'a dyn ProjectConsent>,
    /// Reads a variable of the environment, for the `.mcp.json` of a project.
    pub variables: Option<fn(&str) -> Option<String>>,
}

/// Trust in a project covers what was there when it was given. Whatever comes later, a command of
/// an agent may have written.
pub trait ProjectConsent: fmt::Debug {
    /// Hears that the user trusts the project in `directory`, before its files are read. They lie
    /// in these directories, of which `directory` is one.
    fn trusted(&self, directory: &Path, directories: &[&Path]);

    /// Says whether a file of the project counts with this text.
    fn covers(&self, file: &Path, text: &str) -> bool;
}

/// All layers in one table.
#[derive(Debug, Clone)]
pub struct Config {
    root: ConfigEntry,
    notices: Vec<ConfigNotice>,
}

/// Something that a person should know about what was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigNotice {
    /// The project has settings, and nobody said that it may.
    Untrusted { file: PathBuf, root: PathBuf },
    /// The project is trusted, but its settings are not those that were there then.
    Changed { file: PathBuf, directory: PathBuf },
    /// A project's file says which projects are trusted; that part is left out.
    TrustInProject { origin: ValueOrigin },
    /// A part of a project's `.mcp.json` does not count.
    McpJson { told: String },
}

impl fmt::Display for ConfigNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted { file, root } => write!(
                f,
                "{} is not read, because you do not trust the project; read it, and if you \
                 agree, run `troupe trust {}`",
                file.display(),
                root.display(),
            ),
            Self::Changed { file, directory } => write!(
                f,
                "{} is not read, because it was not there, or was different, when you trusted the \
                 project; read it, and if you agree, run `troupe trust {}`",
                file.display(),
                directory.display(),
            ),
            Self::TrustInProject { origin } => write!(
                f,
                "{origin}: projects is left out: only your own configuration says which \
                 projects are trusted"
            ),
            Self::McpJson { told } => f.write_str(told),
        }
    }
}

/// Reads and merges all layers.
pub fn load(sources: &ConfigInputs<'_>) -> Result<Config, ConfigError> {
    let mut root =
        parse_defaults(sources.defaults).map_err(|error| ConfigError::Syntax(error.into()))?;
    if let Some(path) = sources.user_file {
        let user = match sources.user_text {
            Some(text) => Some(parsed(text, ValueLayer::User, path)?),
            None => read_file(path, ValueLayer::User)?,
        };
        if let Some(user) = user {
            root.overlay(user);
        }
    }
    let arguments = sources
        .arguments
        .iter()
        .map(|text| argument::of_argument(text))
        .collect::<Result<Vec<ConfigEntry>, ConfigError>>()?;

    let notices = overlay_project(&mut root, sources, &arguments)?;
    if let Some((name, origin)) = chosen_profile(sources, &root, &arguments)? {
        let profile = find_profile(&root, &name, origin)?;
        root.overlay(profile.into_layer(ValueLayer::Profile));
    }
    for argument in arguments {
        root.overlay(argument);
    }
    for flag in sources.flags {
        root.overlay(argument::of_flag(flag));
    }
    Ok(Config { root, notices })
}

impl Config {
    /// Reads a section as `T`; the empty path is the whole configuration. A section that
    /// nobody wrote is read as an empty table.
    pub fn get<T: DeserializeOwned>(&self, section: &KeyPath) -> Result<T, ConfigError> {
        let empty;
        let entry = if let Some(entry) = self.root.find(section.parts()) {
            entry
        } else {
            empty = ConfigEntry {
                value: ConfigValue::Table(Table::new()),
                origin: self.root.origin.clone(),
            };
            &empty
        };
        read(entry, section).map_err(|bad| ConfigError::BadValue(bad.into()))
    }

    pub fn find(&self, key: &KeyPath) -> Option<&ConfigEntry> {
        self.root.find(key.parts())
    }

    /// Lists the names of the profiles, chosen or not.
    pub fn profiles(&self) -> impl Iterator<Item = &str> {
        let profiles = self.root.find(KeyPath::from(["profiles"]).parts());
        let table = profiles
            .and_then(ConfigEntry::as_table)
            .into_iter()
            .flatten();
        table.map(|(name, _)| name.as_str())
    }

    /// Returns what the configuration would be with this profile on top, so that one can be
    /// checked before it is chosen.
    pub fn with_profile(&self, name: &str) -> Result<Self, ConfigError> {
        let profile = find_profile(&self.root, name, self.root.origin.clone())?;
        let mut root = self.root.clone();
        root.overlay(profile.into_layer(ValueLayer::Profile));
        Ok(Self {
            root,
            notices: self.notices.clone(),
        })
    }

    /// Makes the error for a value that has the right type and is still not usable.
    pub fn refuse(&self, key: &KeyPath, problem: impl Into<String>) -> ConfigError {
        let entry = self.find(key).unwrap_or(&self.root);
        ConfigError::BadValue(Box::new(BadValue {
            key: key.clone(),
            origin: entry.origin.clone(),
            problem: problem.into(),
        }))
    }

    /// Lists every effective value that is not a table, in the order of the keys.
    pub fn settings(&self) -> Vec<(KeyPath, &ConfigEntry)> {
        let mut settings = Vec::new();
        collect(&self.root, &KeyPath::root(), &mut settings);
        settings
    }

    /// Lists keys that `schema`, a JSON Schema of the whole configuration, has no place for.
    pub fn unknown_keys(&self, schema: &Json) -> Vec<UnknownKey> {
        unknown_keys(&self.root, schema)
    }

    /// Tells whether anything but the built-in defaults was read.
    pub fn is_customised(&self) -> bool {
        self.settings()
            .iter()
            .any(|(_, entry)| entry.origin.layer > ValueLayer::Defaults)
    }

    pub fn notices(&self) -> &[ConfigNotice] {
        &self.notices
    }
}

fn collect<'a>(
    entry: &'a ConfigEntry,
    key: &KeyPath,
    settings: &mut Vec<(KeyPath, &'a ConfigEntry)>,
) {
    match &entry.value {
        ConfigValue::Table(table) => {
            for (name, child) in table {
                collect(child, &key.child(name), settings);
            }
        }
        _ => settings.push((key.clone(), entry)),
    }
}

/// Reads a file that need not exist.
fn read_file(path: &Path, layer: ValueLayer) -> Result<Option<ConfigEntry>, ConfigError> {
    let text = read_text(path)?;
    text.map(|text| parsed(&text, layer, path)).transpose()
}

fn read_text(path: &Path) -> Result<Option<String>, ConfigError> {
    let failed = |why| ConfigError::Read {
        path: path.to_owned(),
        why,
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
    };
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(ConfigError::TooLarge {
            path: path.to_owned(),
        });
    }
    Ok(Some(text))
}

fn parsed(text: &str, layer: ValueLayer, path: &Path) -> Result<ConfigEntry, ConfigError> {
    parse_file(text, layer, path).map_err(|error| ConfigError::Syntax(error.into()))
}

/// Lays the project's files over `root` if the user trusts the project. `root` must hold
/// only what the user wrote: a project cannot vouch for itself.
fn overlay_project(
    root: &mut ConfigEntry,
    sources: &ConfigInputs<'_>,
    arguments: &[ConfigEntry],
) -> Result<Vec<ConfigNotice>, ConfigError> {
    let Some(cwd) = sources.cwd else {
        return Ok(Vec::new());
    };
    let top = sources.repository_root.unwrap_or(cwd);
    let mut directories: Vec<&Path> = cwd
        .ancestors()
        .take_while(|directory| directory.starts_with(top))
        .collect();
    directories.reverse();

    let mut spoken_for = root.clone();
    for argument in arguments {
        spoken_for.overlay(argument.clone());
    }
    let mut named = directories.iter();
    let trusted = named.find(|directory| is_trusted(&spoken_for, directory));
    if let (Some(directory), Some(consent)) = (trusted, sources.consent) {
        consent.trusted(directory, &directories);
    }
    let trusted = trusted.is_some();

    let users_servers = server_names(root);
    let mut notices = Vec::new();
    for directory in directories {
        // What is written for us comes after what is written for everybody.
        for name in [MCP_JSON, PROJECT_FILE] {
            let file = directory.join(name);
            // The home directory may itself be a project; its file was read already.
            if Some(file.as_path()) == sources.user_file {
                continue;
            }
            if !trusted {
                let root = top.to_owned();
                notices.extend(
                    file.exists()
                        .then_some(ConfigNotice::Untrusted { file, root }),
                );
                continue;
            }
            // Read once: what is asked about is what counts.
            let Some(text) = read_text(&file)? else {
                continue;
            };
            if sources.consent.is_some_and(|it| !it.covers(&file, &text)) {
                let directory = directory.to_owned();
                notices.push(ConfigNotice::Changed { file, directory });
                continue;
            }
            if name == MCP_JSON {
                notices.extend(overlay_servers(root, sources, &users_servers, &text, &file));
            } else {
                let mut project = parsed(&text, ValueLayer::Project, &file)?;
                notices.extend(withhold_trust(&mut project));
                root.overlay(project);
            }
        }
    }
    Ok(notices)
}

/// Lays the servers of a `.mcp.json` over `root`. One that the user's own configuration has is the
/// user's: half of one and half of the other would be neither.
fn overlay_servers(
    root: &mut ConfigEntry,
    sources: &ConfigInputs<'_>,
    users: &[String],
    text: &str,
    file: &Path,
) -> Vec<ConfigNotice> {
    let none = |_: &str| None;
    let variables: &dyn Fn(&str) -> Option<String> = match &sources.variables {
        Some(variables) => variables,
        None => &none,
    };
    // It is written for many programs: a slip in it takes its servers away, and nothing else.
    let mut servers = match mcp_json::parse(text, file, variables) {
        Ok(servers) => servers,
        Err(error) => {
            let told = format!("none of its servers is used until this is mended: {error}");
            return vec![ConfigNotice::McpJson { told }];
        }
    };
    servers.table.retain(|name, _| !users.contains(name));
    let entry = |value| ConfigEntry {
        value: ConfigValue::Table(value),
        origin: ValueOrigin {
            layer: ValueLayer::Project,
            place: ValuePlace::File {
                path: file.into(),
                line: 1,
            },
        },
    };
    let servers_entry = entry(servers.table);
    root.overlay(entry(Table::from([(
        MCP_SERVERS.to_owned(),
        servers_entry,
    )])));
    let told = servers.left_out.into_iter();
    told.map(|told| ConfigNotice::McpJson { told }).collect()
}

fn server_names(root: &ConfigEntry) -> Vec<String> {
    let servers = root.find(KeyPath::from([MCP_SERVERS]).parts());
    let servers = servers
        .and_then(ConfigEntry::as_table)
        .into_iter()
        .flatten();
    servers.map(|(name, _)| name.clone()).collect()
}

fn is_trusted(user: &ConfigEntry, directory: &Path) -> bool {
    let key = KeyPath::from(["projects", &directory.to_string_lossy(), "trust_level"]);
    user.find(key.parts()).and_then(ConfigEntry::as_str) == Some("trusted")
}

/// A trusted project speaks for itself only, not for other projects.
fn withhold_trust(project: &mut ConfigEntry) -> Option<ConfigNotice> {
    let ConfigValue::Table(table) = &mut project.value else {
        return None;
    };
    let removed = table.remove("projects")?;
    Some(ConfigNotice::TrustInProject {
        origin: removed.origin,
    })
}

/// Returns the name of the profile and who chose it.
fn chosen_profile(
    sources: &ConfigInputs<'_>,
    root: &ConfigEntry,
    arguments: &[ConfigEntry],
) -> Result<Option<(String, ValueOrigin)>, ConfigError> {
    if let Some(name) = sources.profile {
        let origin = ValueOrigin {
            layer: ValueLayer::Flag,
            place: ValuePlace::CommandLine(format!("--profile {name}").into()),
        };
        return Ok(Some((name.to_owned(), origin)));
    }
    let key = KeyPath::from(["profile"]);
    let chosen = arguments
        .iter()
        .rev()
        .chain([root])
        .find_map(|layer| layer.find(key.parts()));
    match chosen {
        None => Ok(None),
        Some(entry) => {
            let name = read(entry, &key).map_err(|bad| ConfigError::BadValue(bad.into()))?;
            Ok(Some((name, entry.origin.clone())))
        }
    }
}

fn find_profile(
    root: &ConfigEntry,
    name: &str,
    origin: ValueOrigin,
) -> Result<ConfigEntry, ConfigError> {
    let profiles = root
        .find(KeyPath::from(["profiles"]).parts())
        .and_then(ConfigEntry::as_table);
    match profiles.and_then(|profiles| profiles.get(name)) {
        Some(profile) if profile.as_table().is_some() => Ok(profile.clone()),
        Some(other) => Err(ConfigError::BadValue(Box::new(BadValue {
            key: KeyPath::from(["profiles", name]),
            origin: other.origin.clone(),
            problem: format!("expected a table, found {}", other.value),
        }))),
        None => Err(ConfigError::UnknownProfile {
            name: name.to_owned(),
            origin,
            known: profiles
                .map(|profiles| profiles.keys().cloned().collect())
                .unwrap_or_default(),
        }),
    }
}
