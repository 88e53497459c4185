//! Changes to a rules file that keep its comments and its order.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, value};

use super::parse::{RulesFileError, parse, read_text};
use super::{CommandRule, RuleDecision, RuleMatter, SandboxUse};

/// Why a rules file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum AmendError {
    #[error("the rule is not usable: {0}")]
    Rule(String),
    #[error("{0}; mend the file first")]
    Broken(RulesFileError),
    #[error("{}: its rules are not [[rule]] tables; change it by hand", file.display())]
    Form { file: PathBuf },
    #[error("{} has {count} rules, there is no number {}", file.display(), index + 1)]
    NoSuchRule {
        file: PathBuf,
        index: usize,
        count: usize,
    },
    #[error("{} has no rule `{words}`; `troupe rules` lists them", file.display())]
    NoSuchWords { file: PathBuf, words: String },
    #[error("the rules {numbers} have the words `{words}`; name one by its number")]
    SameWords { words: String, numbers: String },
    #[error("cannot write {}: {error}", file.display())]
    Write { file: PathBuf, error: io::Error },
}

/// Adds rules that are not there yet, at the end, and returns how many. Blocks on the disk.
pub fn append(file: &Path, rules: &[CommandRule]) -> Result<usize, AmendError> {
    for rule in rules {
        rule.check().map_err(AmendError::Rule)?;
    }
    let mut added = 0;
    amend(file, |document, known| {
        let tables = document
            .entry("rule")
            .or_insert(Item::ArrayOfTables(ArrayOfTables::new()))
            .as_array_of_tables_mut()?;
        for rule in rules.iter().filter(|rule| !known.contains(rule)) {
            tables.push(table(rule));
            added += 1;
        }
        Some(())
    })?;
    Ok(added)
}

/// Which rule of a file is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleChoice {
    /// By its place in the file; the first is 0.
    Index(usize),
    /// By all that it is about, and its decision if that is given.
    Matter {
        decision: Option<RuleDecision>,
        matter: RuleMatter,
    },
}

impl RuleChoice {
    fn index(&self, file: &Path, rules: &[CommandRule]) -> Result<usize, AmendError> {
        let (decision, matter) = match self {
            Self::Index(index) if *index < rules.len() => return Ok(*index),
            Self::Index(index) => {
                return Err(AmendError::NoSuchRule {
                    file: file.to_owned(),
                    index: *index,
                    count: rules.len(),
                });
            }
            Self::Matter { decision, matter } => (decision, matter),
        };
        let is_meant = |(_, rule): &(usize, &CommandRule)| {
            rule.matter == *matter && decision.is_none_or(|decision| rule.decision == decision)
        };
        let meant = rules.iter().enumerate().filter(is_meant);
        let meant: Vec<usize> = meant.map(|(index, _)| index).collect();
        match meant[..] {
            [index] => Ok(index),
            [] => Err(AmendError::NoSuchWords {
                file: file.to_owned(),
                words: matter.words(),
            }),
            _ => {
                let numbers = meant.iter().map(|index| (index + 1).to_string());
                Err(AmendError::SameWords {
                    words: matter.words(),
                    numbers: numbers.collect::<Vec<_>>().join(" and "),
                })
            }
        }
    }
}

/// Removes a rule, with the comments above it. Blocks on the disk.
pub fn remove(file: &Path, choice: &RuleChoice) -> Result<CommandRule, AmendError> {
    let mut removed = None;
    amend(file, |document, known| {
        let chosen = choice.index(file, known);
        if let Ok(index) = chosen {
            let tables = document.get_mut("rule")?.as_array_of_tables_mut()?;
            tables.remove(index);
        }
        removed = Some(chosen.map(|index| known[index].clone()));
        Some(())
    })?;
    removed.expect("a file that could be changed was looked at")
}

/// Reads, changes and replaces the file while nobody else does. `change` returns `None` if
/// the file has a form that it cannot change.
fn amend(
    file: &Path,
    change: impl FnOnce(&mut DocumentMut, &[CommandRule]) -> Option<()>,
) -> Result<(), AmendError> {
    let failed = |error| AmendError::Write {
        file: file.to_owned(),
        error,
    };
    // A link is followed: the file may live among a person's other settings.
    let target = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let directory = target
        .parent()
        .ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    let lock = lock(directory).map_err(failed)?;
    let text = read_text(&target)
        .map_err(AmendError::Broken)?
        .unwrap_or_default();
    let known: Vec<CommandRule> = parse(&text, file)
        .map_err(AmendError::Broken)?
        .into_iter()
        .map(|placed| placed.rule)
        .collect();
    let form = || AmendError::Form {
        file: file.to_owned(),
    };
    let mut document: DocumentMut = text.parse().map_err(|_| form())?;
    change(&mut document, &known).ok_or_else(form)?;
    let changed = document.to_string();
    if changed != text {
        replace(&target, &lock, &changed).map_err(failed)?;
    }
    Ok(())
}

/// Keeps other programs of ours from changing files of the directory until it is dropped.
fn lock(directory: &Path) -> io::Result<File> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let lock = File::open(directory)?;
    lock.lock()?;
    Ok(lock)
}

/// Puts the text in the place of the file at once: a reader sees the old or the new one.
fn replace(target: &Path, directory: &File, text: &str) -> io::Result<()> {
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = target.with_file_name(name);
    match std::fs::remove_file(&beside) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&beside, target)?;
    directory.sync_all()
}

fn table(rule: &CommandRule) -> Table {
    let mut table = Table::new();
    match &rule.matter {
        RuleMatter::Command(prefix) => {
            let words: Array = prefix.iter().map(String::as_str).collect();
            table.insert("prefix", value(words));
        }
        RuleMatter::Edit(pattern) => drop(table.insert("edit", value(pattern))),
        RuleMatter::Mcp(pattern) => drop(table.insert("mcp", value(pattern))),
    }
    table.insert("decision", value(rule.decision.as_str()));
    if rule.sandbox == SandboxUse::Off {
        table.insert("sandbox", value("off"));
    }
    if let Some(reason) = &rule.reason {
        table.insert("reason", value(reason.as_str()));
    }
    table
}

#[cfg(test)]
mod tests;
