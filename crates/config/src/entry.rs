//! Values that remember where they were written.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// Where a value ranks: a later layer wins over an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ValueLayer {
    /// Built into the program.
    Defaults,
    /// The user's own file.
    User,
    /// Files of a trusted project, from the repository root down to the working directory.
    Project,
    /// The chosen `[profiles.NAME]` table.
    Profile,
    /// `-c key=value`.
    Argument,
    /// A command-line flag that stands for a key.
    Flag,
}

impl ValueLayer {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Defaults => "default",
            Self::User => "user",
            Self::Project => "project",
            Self::Profile => "profile",
            Self::Argument => "argument",
            Self::Flag => "flag",
        }
    }
}

/// The spot that a value was written at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValuePlace {
    BuiltIn,
    File {
        path: Arc<Path>,
        line: usize,
    },
    /// The argument, as it was typed.
    CommandLine(Arc<str>),
}

/// Layer and place of one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueOrigin {
    pub layer: ValueLayer,
    pub place: ValuePlace,
}

impl ValueOrigin {
    pub fn file(&self) -> Option<PathBuf> {
        match &self.place {
            ValuePlace::File { path, .. } => Some(path.to_path_buf()),
            ValuePlace::BuiltIn | ValuePlace::CommandLine(_) => None,
        }
    }
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            ValuePlace::BuiltIn => f.write_str("built-in default"),
            ValuePlace::File { path, line } => write!(f, "{}:{line}", path.display()),
            ValuePlace::CommandLine(argument) => write!(f, "command line ({argument})"),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ConfigEntry {
    pub value: ConfigValue,
    pub origin: ValueOrigin,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ConfigValue {
    String(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Datetime(toml::value::Datetime),
    /// Replaced as a whole by a later layer.
    Array(Vec<ConfigEntry>),
    /// Merged key by key with a later layer.
    Table(Table),
}

pub type Table = BTreeMap<String, ConfigEntry>;

impl ConfigEntry {
    /// Lays a later layer over this one. Tables merge; anything else is replaced.
    pub(crate) fn overlay(&mut self, later: ConfigEntry) {
        match (&mut self.value, later.value) {
            (ConfigValue::Table(base), ConfigValue::Table(over)) => {
                for (key, entry) in over {
                    match base.get_mut(&key) {
                        Some(existing) => existing.overlay(entry),
                        None => {
                            base.insert(key, entry);
                        }
                    }
                }
            }
            (value, over) => {
                *value = over;
                self.origin = later.origin;
            }
        }
    }

    /// Puts a whole subtree into another layer; its places stay.
    pub(crate) fn into_layer(mut self, layer: ValueLayer) -> Self {
        self.origin.layer = layer;
        self.value = match self.value {
            ConfigValue::Table(table) => ConfigValue::Table(
                table
                    .into_iter()
                    .map(|(key, entry)| (key, entry.into_layer(layer)))
                    .collect(),
            ),
            ConfigValue::Array(items) => ConfigValue::Array(
                items
                    .into_iter()
                    .map(|item| item.into_layer(layer))
                    .collect(),
            ),
            scalar => scalar,
        };
        self
    }

    pub fn as_table(&self) -> Option<&Table> {
        match &self.value {
            ConfigValue::Table(table) => Some(table),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            ConfigValue::String(text) => Some(text),
            _ => None,
        }
    }

    /// Follows a path of keys through tables.
    pub fn find(&self, parts: &[String]) -> Option<&ConfigEntry> {
        parts
            .iter()
            .try_fold(self, |entry, part| entry.as_table()?.get(part))
    }
}

/// As JSON has it; a date is a string there.
impl Serialize for ConfigValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(text) => serializer.serialize_str(text),
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Boolean(flag) => serializer.serialize_bool(*flag),
            Self::Datetime(time) => serializer.collect_str(time),
            Self::Array(items) => serializer.collect_seq(items.iter().map(|item| &item.value)),
            Self::Table(table) => {
                serializer.collect_map(table.iter().map(|(key, entry)| (key, &entry.value)))
            }
        }
    }
}

/// Written as TOML on one line.
impl fmt::Display for ConfigValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String(text) => write!(f, "{}", toml::Value::from(text.as_str())),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{}", toml::Value::from(*number)),
            Self::Boolean(flag) => write!(f, "{flag}"),
            Self::Datetime(time) => write!(f, "{time}"),
            Self::Array(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    let comma = if index > 0 { ", " } else { "" };
                    write!(f, "{comma}{}", item.value)?;
                }
                f.write_str("]")
            }
            Self::Table(table) => {
                f.write_str("{")?;
                for (index, (key, entry)) in table.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    let key = crate::KeyPath::from([key.as_str()]);
                    write!(f, "{comma} {key} = {}", entry.value)?;
                }
                f.write_str(" }")
            }
        }
    }
}
