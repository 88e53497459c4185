//! Finds the layers, decides which of them count, and lays one over the other.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::argument::{self, Flag};
use crate::entry::{Entry, Layer, Origin, Place, Table, Value};
use crate::error::{BadValue, Error};
use crate::key::KeyPath;
use crate::known::{UnknownKey, unknown_keys};
use crate::limits::FILE_BYTES_MAX;
use crate::mcp_json::{self, MCP_JSON};
use crate::parse::{parse_defaults, parse_file};
use crate::read::read;

/// Where a project keeps its settings, below each directory from the root down.
const PROJECT_FILE: &str = ".troupe/config.toml";

/// The table of MCP servers.
const MCP_SERVERS: &str = "mcp_servers";

/// Everything a configuration is made of.
#[derive(Debug, Clone, Default)]
pub struct Sources<'a> {
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
    pub flags: &'a [Flag],
    /// What the user has agreed to of a trusted project; without it, to whatever is there.
    pub consent: Option<&'a dyn Consent>,
    /// Reads a variable of the environment, for the `.mcp.json` of a project.
    pub variables: Option<fn(&str) -> Option<String>>,
}

/// Trust in a project covers what was there when it was given. Whatever comes later, a command of
/// an agent may have written.
pub trait Consent: fmt::Debug {
    /// Hears that the user trusts the project in `directory`, before its files are read. They lie
    /// in these directories, of which `directory` is one.
    fn trusted(&self, directory: &Path, directories: &[&Path]);

    /// Says whether a file of the project counts with this text.
    fn covers(&self, file: &Path, text: &str) -> bool;
}

/// All layers in one table.
#[derive(Debug, Clone)]
pub struct Config {
    root: Entry,
    notices: Vec<Notice>,
}

/// A notice about what was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The project has settings, and nobody said that it may.
    Untrusted { file: PathBuf, root: PathBuf },
    /// The project is trusted, but its settings are not those that were there then.
    Changed { file: PathBuf, directory: PathBuf },
    /// A project's file says which projects are trusted; that part is left out.
    TrustInProject { origin: Origin },
    /// A part of a project's `.mcp.json` does not count.
    McpJson { told: String },
}

impl fmt::Display for Notice {
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
pub fn load(sources: &Sources<'_>) -> Result<Config, Error> {
    let mut root = parse_defaults(sources.defaults).map_err(|error| Error::Syntax(error.into()))?;
    if let Some(path) = sources.user_file {
        let user = match sources.user_text {
            Some(text) => Some(parsed(text, Layer::User, path)?),
            None => read_file(path, Layer::User)?,
        };
        if let Some(user) = user {
            root.overlay(user);
        }
    }
    let arguments = sources
        .arguments
        .iter()
        .map(|text| argument::of_argument(text))
        .collect::<Result<Vec<Entry>, Error>>()?;

    let notices = overlay_project(&mut root, sources, &arguments)?;
    if let Some((name, origin)) = chosen_profile(sources, &root, &arguments)? {
        let profile = find_profile(&root, &name, origin)?;
        root.overlay(profile.into_layer(Layer::Profile));
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
    pub fn get<T: DeserializeOwned>(&self, section: &KeyPath) -> Result<T, Error> {
        let empty;
        let entry = if let Some(entry) = self.root.find(section.parts()) {
            entry
        } else {
            empty = Entry {
                value: Value::Table(Table::new()),
                origin: self.root.origin.clone(),
            };
            &empty
        };
        read(entry, section).map_err(|bad| Error::BadValue(bad.into()))
    }

    pub fn find(&self, key: &KeyPath) -> Option<&Entry> {
        self.root.find(key.parts())
    }

    /// Lists the names of the profiles, chosen or not.
    pub fn profiles(&self) -> impl Iterator<Item = &str> {
        let profiles = self.root.find(KeyPath::from(["profiles"]).parts());
        let table = profiles.and_then(Entry::as_table).into_iter().flatten();
        table.map(|(name, _)| name.as_str())
    }

    /// Returns what the configuration would be with this profile on top, so that one can be
    /// checked before it is chosen.
    pub fn with_profile(&self, name: &str) -> Result<Self, Error> {
        let profile = find_profile(&self.root, name, self.root.origin.clone())?;
        let mut root = self.root.clone();
        root.overlay(profile.into_layer(Layer::Profile));
        Ok(Self {
            root,
            notices: self.notices.clone(),
        })
    }

    /// Makes the error for a value that has the right type and is still not usable.
    pub fn refuse(&self, key: &KeyPath, problem: impl Into<String>) -> Error {
        let entry = self.find(key).unwrap_or(&self.root);
        Error::BadValue(Box::new(BadValue {
            key: key.clone(),
            origin: entry.origin.clone(),
            problem: problem.into(),
        }))
    }

    /// Lists every effective value that is not a table, in the order of the keys.
    pub fn settings(&self) -> Vec<(KeyPath, &Entry)> {
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
            .any(|(_, entry)| entry.origin.layer > Layer::Defaults)
    }

    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }
}

fn collect<'a>(entry: &'a Entry, key: &KeyPath, settings: &mut Vec<(KeyPath, &'a Entry)>) {
    match &entry.value {
        Value::Table(table) => {
            for (name, child) in table {
                collect(child, &key.child(name), settings);
            }
        }
        _ => settings.push((key.clone(), entry)),
    }
}

/// Reads a file that need not exist.
fn read_file(path: &Path, layer: Layer) -> Result<Option<Entry>, Error> {
    let text = read_text(path)?;
    text.map(|text| parsed(&text, layer, path)).transpose()
}

fn read_text(path: &Path) -> Result<Option<String>, Error> {
    let failed = |why| Error::Read {
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
        return Err(Error::TooLarge {
            path: path.to_owned(),
        });
    }
    Ok(Some(text))
}

fn parsed(text: &str, layer: Layer, path: &Path) -> Result<Entry, Error> {
    parse_file(text, layer, path).map_err(|error| Error::Syntax(error.into()))
}

/// Lays the project's files over `root` if the user trusts the project. `root` must hold
/// only what the user wrote: a project cannot vouch for itself.
fn overlay_project(
    root: &mut Entry,
    sources: &Sources<'_>,
    arguments: &[Entry],
) -> Result<Vec<Notice>, Error> {
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
                notices.extend(file.exists().then_some(Notice::Untrusted { file, root }));
                continue;
            }
            // Read once: what is asked about is what counts.
            let Some(text) = read_text(&file)? else {
                continue;
            };
            if sources.consent.is_some_and(|it| !it.covers(&file, &text)) {
                let directory = directory.to_owned();
                notices.push(Notice::Changed { file, directory });
                continue;
            }
            if name == MCP_JSON {
                notices.extend(overlay_servers(root, sources, &users_servers, &text, &file));
            } else {
                let mut project = parsed(&text, Layer::Project, &file)?;
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
    root: &mut Entry,
    sources: &Sources<'_>,
    users: &[String],
    text: &str,
    file: &Path,
) -> Vec<Notice> {
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
            return vec![Notice::McpJson { told }];
        }
    };
    servers.table.retain(|name, _| !users.contains(name));
    let entry = |value| Entry {
        value: Value::Table(value),
        origin: Origin {
            layer: Layer::Project,
            place: Place::File {
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
    told.map(|told| Notice::McpJson { told }).collect()
}

fn server_names(root: &Entry) -> Vec<String> {
    let servers = root.find(KeyPath::from([MCP_SERVERS]).parts());
    let servers = servers.and_then(Entry::as_table).into_iter().flatten();
    servers.map(|(name, _)| name.clone()).collect()
}

fn is_trusted(user: &Entry, directory: &Path) -> bool {
    let key = KeyPath::from(["projects", &directory.to_string_lossy(), "trust_level"]);
    user.find(key.parts()).and_then(Entry::as_str) == Some("trusted")
}

/// A trusted project speaks for itself only, not for other projects.
fn withhold_trust(project: &mut Entry) -> Option<Notice> {
    let Value::Table(table) = &mut project.value else {
        return None;
    };
    let removed = table.remove("projects")?;
    Some(Notice::TrustInProject {
        origin: removed.origin,
    })
}

/// Returns the name of the profile and who chose it.
fn chosen_profile(
    sources: &Sources<'_>,
    root: &Entry,
    arguments: &[Entry],
) -> Result<Option<(String, Origin)>, Error> {
    if let Some(name) = sources.profile {
        let origin = Origin {
            layer: Layer::Flag,
            place: Place::CommandLine(format!("--profile {name}").into()),
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
            let name = read(entry, &key).map_err(|bad| Error::BadValue(bad.into()))?;
            Ok(Some((name, entry.origin.clone())))
        }
    }
}

fn find_profile(root: &Entry, name: &str, origin: Origin) -> Result<Entry, Error> {
    let profiles = root
        .find(KeyPath::from(["profiles"]).parts())
        .and_then(Entry::as_table);
    match profiles.and_then(|profiles| profiles.get(name)) {
        Some(profile) if profile.as_table().is_some() => Ok(profile.clone()),
        Some(other) => Err(Error::BadValue(Box::new(BadValue {
            key: KeyPath::from(["profiles", name]),
            origin: other.origin.clone(),
            problem: format!("expected a table, found {}", other.value),
        }))),
        None => Err(Error::UnknownProfile {
            name: name.to_owned(),
            origin,
            known: profiles
                .map(|profiles| profiles.keys().cloned().collect())
                .unwrap_or_default(),
        }),
    }
}
