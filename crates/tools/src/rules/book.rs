//! The rules that hold now: read when first needed, and again when a file changed.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::parse::{self, RulesFileError};
use super::{PlacedRule, RuleDecision};
use crate::digest;

/// Where rules are written.
#[derive(Debug, Clone, Default)]
pub struct RuleSource {
    /// The user's file, which `always` adds to.
    pub user: Option<PathBuf>,
    /// The project's files, from its root down.
    pub projects: Vec<PathBuf>,
    pub trust: ProjectTrust,
}

/// Whether the user trusts the project, and with what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ProjectTrust {
    /// With its files as they were then, by the SHA-256 of their text. One that came or changed
    /// later may have been written by a command.
    Trusted(BTreeMap<PathBuf, String>),
    #[default]
    Untrusted,
}

impl ProjectTrust {
    fn covers(&self, file: &Path, text: &str) -> bool {
        match self {
            Self::Trusted(files) => {
                let digest = files.get(file);
                digest.is_some_and(|it| *it == digest::of_bytes(text.as_bytes()))
            }
            Self::Untrusted => false,
        }
    }

    /// Says why what a project's file would allow is ignored.
    pub fn complaint(&self) -> &'static str {
        match self {
            Self::Trusted(_) => {
                "its file was not there, or was different, when you trusted the project; \
                 `troupe trust` agrees to it"
            }
            Self::Untrusted => "the project is not trusted, and may only ask and forbid",
        }
    }
}

/// All rules, as they were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleSet {
    /// Those that count, the user's first.
    pub placed: Vec<PlacedRule>,
    /// What a project would allow that is not trusted with it.
    pub ignored: Vec<PlacedRule>,
    pub broken: Vec<RulesFileError>,
}

/// The rules of a session.
#[derive(Debug)]
pub struct RuleBook {
    source: RuleSource,
    state: Mutex<RuleBookState>,
}

#[derive(Debug, Default)]
struct RuleBookState {
    /// What the files were when they were read, in order; empty before the first look.
    stamps: Vec<RuleFileStamp>,
    rules: Arc<RuleSet>,
    untold: Vec<String>,
    told: BTreeSet<String>,
}

/// Tells one version of a file from the next. A file that is replaced has another inode, even
/// within one tick of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleFileStamp {
    Absent,
    Present {
        inode: u64,
        modified: (i64, i64),
        bytes: u64,
    },
}

impl RuleFileStamp {
    fn of(file: &Path) -> Self {
        // What cannot be looked at is reported when it is read.
        match std::fs::metadata(file) {
            Err(_) => Self::Absent,
            Ok(metadata) => Self::Present {
                inode: metadata.ino(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                bytes: metadata.len(),
            },
        }
    }
}

impl RuleBook {
    pub fn new(source: RuleSource) -> Self {
        Self {
            source,
            state: Mutex::default(),
        }
    }

    /// The file that new rules are written to.
    pub fn user_file(&self) -> Option<&Path> {
        self.source.user.as_deref()
    }

    /// Returns the rules that hold now. Costs a look at each file, and no more while they stay
    /// as they are.
    pub fn current(&self) -> Arc<RuleSet> {
        // Taken before reading: what changes meanwhile is read again next time.
        let stamps: Vec<RuleFileStamp> = self.files().map(RuleFileStamp::of).collect();
        let mut state = self.lock();
        if state.stamps != stamps {
            state.stamps = stamps;
            state.rules = Arc::new(self.read());
            let warnings = warnings(&state.rules, &self.source.trust);
            let fresh: Vec<String> = warnings
                .into_iter()
                .filter(|text| state.told.insert(text.clone()))
                .collect();
            state.untold.extend(fresh);
        }
        Arc::clone(&state.rules)
    }

    /// Returns what a person should know about the files; each thing once.
    pub fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().untold)
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        let RuleSource { user, projects, .. } = &self.source;
        user.iter().chain(projects).map(PathBuf::as_path)
    }

    fn read(&self) -> RuleSet {
        let mut rules = RuleSet::default();
        for file in self.files() {
            let text = match parse::read_text(file) {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(error) => {
                    rules.broken.push(error);
                    continue;
                }
            };
            let is_own = self.source.user.as_deref() == Some(file);
            let may_loosen = is_own || self.source.trust.covers(file, &text);
            match parse::parse(&text, file) {
                Err(error) => rules.broken.push(error),
                Ok(read) if !may_loosen => {
                    let (ignored, placed) = read
                        .into_iter()
                        .partition(|it: &PlacedRule| it.rule.decision == RuleDecision::Allow);
                    rules.placed.extend::<Vec<_>>(placed);
                    rules.ignored.extend::<Vec<_>>(ignored);
                }
                Ok(read) => rules.placed.extend(read),
            }
        }
        rules
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, RuleBookState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn warnings(rules: &RuleSet, trust: &ProjectTrust) -> Vec<String> {
    let broken = rules.broken.iter().map(|error| {
        format!(
            "{error}; until it is mended, every command that is not known to be safe is asked for"
        )
    });
    let complaint = trust.complaint();
    let ignored = rules.ignored.iter();
    let ignored = ignored.map(|placed| format!("{placed} is ignored: {complaint}"));
    broken.chain(ignored).collect()
}

#[cfg(test)]
mod tests;
