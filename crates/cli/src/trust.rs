//! What the projects that the user trusts had in them when that was said.
//!
//! A line of the user's configuration says that a project is trusted; it does not say with what. A
//! command of an agent may write settings there later, by winning a race against the sandbox or on
//! a machine that can enforce less, and they would run programs outside of it. So the first run
//! that finds a project trusted records the settings that it has, and those that it has not, in the
//! home, which no command sees; and only what was recorded counts. `troupe trust` records anew.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use troupe_config::{KeyPath, ProjectConsent};
use troupe_tools::digest;

use crate::config_file::{ConfigFileEditor, TableMerge, set};
use crate::failure::CommandFailure;
use crate::home::TroupeHome;

/// The project's rules about commands, below each of its directories.
pub const PROJECT_RULES: &str = ".troupe/rules.toml";

/// The files that decide about what runs; roles and skills are words for a model, as `AGENTS.md`.
const FILES: [&str; 3] = [".troupe/config.toml", ".mcp.json", PROJECT_RULES];

/// In the place of a digest: nothing was there.
const ABSENT: &str = "absent";

/// A file, and the SHA-256 of what it held.
type Digests = BTreeMap<String, String>;

/// The record in the home.
#[derive(Debug)]
pub struct TrustLedger {
    file: PathBuf,
    state: RefCell<TrustState>,
}

#[derive(Debug, Default)]
struct TrustState {
    /// By the directories that the configuration names; none before the first look.
    projects: Option<BTreeMap<String, Digests>>,
    problem: Option<String>,
}

impl TrustLedger {
    pub fn at(home: &TroupeHome) -> Self {
        Self {
            file: home.path().join("trust.toml"),
            state: RefCell::default(),
        }
    }

    /// Records what the directories of a project hold now, beside what is recorded of others.
    /// Returns each file with its digest, or none where nothing is.
    pub fn record(
        &self,
        project: &Path,
        directories: &[&Path],
    ) -> Result<Vec<(PathBuf, Option<String>)>, CommandFailure> {
        let mut ledger = ConfigFileEditor::take(&self.file)?;
        let mut document = ledger.document()?;
        let files = directories
            .iter()
            .flat_map(|it| FILES.map(|name| it.join(name)));
        let seen: Vec<_> = files.map(|file| (digest_of(&file), file)).collect();
        for (digest, file) in &seen {
            let key = KeyPath::from([&*project.to_string_lossy(), &*file.to_string_lossy()]);
            let value = Json::from(digest.as_deref().unwrap_or(ABSENT));
            set(&mut document, &key, &value, TableMerge::Replace).map_err(CommandFailure::usage)?;
        }
        ledger.write(&document)?;
        self.state.borrow_mut().projects = None;
        Ok(seen
            .into_iter()
            .map(|(digest, file)| (file, digest))
            .collect())
    }

    /// Returns what is recorded of these files.
    pub fn digests(&self, files: &[PathBuf]) -> BTreeMap<PathBuf, String> {
        let recorded = |file: &PathBuf| Some((file.clone(), self.digest(file)?));
        files.iter().filter_map(recorded).collect()
    }

    /// Returns why nothing could be recorded, if that is so.
    pub fn problem(&self) -> Option<String> {
        self.state.borrow().problem.clone()
    }

    fn digest(&self, file: &Path) -> Option<String> {
        let name = file.to_string_lossy();
        self.with_projects(|projects| projects.values().find_map(|it| it.get(&*name).cloned()))
    }

    fn with_projects<T>(&self, look: impl FnOnce(&BTreeMap<String, Digests>) -> T) -> T {
        let mut state = self.state.borrow_mut();
        let projects = state.projects.get_or_insert_with(|| read(&self.file));
        look(projects)
    }
}

impl ProjectConsent for TrustLedger {
    fn trusted(&self, directory: &Path, directories: &[&Path]) {
        let name = directory.to_string_lossy();
        if self.with_projects(|projects| projects.contains_key(&*name)) {
            return;
        }
        if let Err(failure) = self.record(directory, directories) {
            self.state.borrow_mut().problem = Some(format!(
                "the settings of {} are not read, because it cannot be recorded which ones you \
                 trust: {failure}",
                directory.display()
            ));
        }
    }

    fn covers(&self, file: &Path, text: &str) -> bool {
        self.digest(file)
            .is_some_and(|it| it == digest::of_bytes(text.as_bytes()))
    }
}

/// A record that cannot be read covers nothing.
fn read(file: &Path) -> BTreeMap<String, Digests> {
    let text = fs::read_to_string(file).unwrap_or_default();
    toml::from_str(&text).unwrap_or_default()
}

fn digest_of(file: &Path) -> Option<String> {
    fs::read(file).ok().map(|bytes| digest::of_bytes(&bytes))
}

/// Returns the directory that the user trusts, of these, which are those of one project.
pub fn trusted_of<'a>(user_file: &Path, directories: &[&'a Path]) -> Option<&'a Path> {
    let text = fs::read_to_string(user_file).unwrap_or_default();
    let user: toml::Table = toml::from_str(&text).unwrap_or_default();
    let projects = user.get("projects")?.as_table()?;
    let is_trusted = |directory: &&&Path| {
        let project = projects.get(&*directory.to_string_lossy());
        let level = project.and_then(|it| it.get("trust_level")?.as_str());
        level == Some("trusted")
    };
    directories.iter().find(is_trusted).copied()
}
