//! Roles: the files that say what a child is, and the strict reading of them.
//!
//! ```text
//! .troupe/agents/NAME.md   nearest directory first, up to the repository's root;
//! .claude/agents/*.md      │ in each directory after ours
//! $TROUPE_HOME/agents/     │
//! ~/.claude/agents/        │
//! embedded                 ▼ first hit wins, per name; those of Claude Code hide no embedded one
//!
//! file ─► document ─► front_matter ─► parse ─► Role
//!         (split)     (typed YAML)    (checks)  ├─ tools: ToolPolicy::allows
//!                                               ├─ sandbox: read-only or inherited
//!                                               └─ precedence: whose model and effort
//! ```
//!
//! A role file is a lock as much as a prompt. One that is not understood completely refuses
//! its name, and so does one that names a tool or a server which nobody knows: neither a part of it is used, nor an embedded role of the same name, nor one
//! further up. Files are read at each use, so an edit counts for the next child.
//!
//! Deliberately absent: the intersection with the parent's rights, the list of models, and
//! the start of a child. A role says what it wants; the tree decides what it gets.

mod cache;
mod claude;
mod document;
mod embedded;
mod error;
mod file;
mod front_matter;
mod known_names;
pub mod limits;
mod name;
mod parse;
mod places;
mod precedence;
mod role;
mod template;
mod tool_policy;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::{InvalidRoleFile, RoleError, RoleFault, RoleProblem, SchemaProblem, UnknownName};
pub use known_names::ServerNames;
pub use name::{BadName, RoleName};
pub use places::project_directory;
pub use precedence::{
    ModelPrecedence, ModelPreference, PreferenceSource, ResolvedPreference, TypeChoices,
};
pub use role::{AgentRole, Persona, RoleApprovals, RoleDialect, RoleMessages, RoleOrigin};
pub use template::create;
pub use tool_policy::{BadPattern, ToolPattern, ToolPolicy};

use self::cache::RoleCache;
use self::places::{RoleDirectory, places};

/// All roles that can be found from some directory and one home. One per process.
#[derive(Debug)]
pub struct RoleLibrary {
    home: PathBuf,
    user_home: Option<PathBuf>,
    cache: RoleCache,
    servers: Option<Arc<dyn ServerNames>>,
}

/// The roles that can be used, and the files that cannot.
#[derive(Debug, Default)]
pub struct RoleCatalogue {
    /// By name; each is what [`RoleLibrary::resolve`] returns.
    pub roles: Vec<Arc<AgentRole>>,
    /// Nearest first, also those that a nearer file hides.
    pub broken: Vec<BrokenRole>,
}

#[derive(Debug)]
pub struct BrokenRole {
    /// The file, or the directory if that cannot be listed.
    pub path: PathBuf,
    pub error: RoleError,
}

impl RoleLibrary {
    /// Roles of the home at `home` (`$TROUPE_HOME`), of projects, and embedded ones.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self {
            home: home.into(),
            user_home: None,
            cache: RoleCache::default(),
            servers: None,
        }
    }

    /// Has roles be refused that name a server which is not one of these.
    #[must_use]
    pub fn with_servers(self, servers: Arc<dyn ServerNames>) -> Self {
        Self {
            servers: Some(servers),
            ..self
        }
    }

    /// Reads what Claude Code keeps in the user's home directory too.
    #[must_use]
    pub fn with_user_home(self, user_home: Option<PathBuf>) -> Self {
        Self { user_home, ..self }
    }

    /// Returns the engine's own directory, which agents are kept from.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Finds the role of this name for a working directory, as its file is now.
    pub fn resolve(&self, cwd: &Path, name: &str) -> Result<Arc<AgentRole>, RoleError> {
        let name = RoleName::parse(name)?;
        let built_in = embedded::find(&name);
        for place in places(cwd, &self.home, self.user_home.as_deref()) {
            if built_in.is_some() && place.dialect() == RoleDialect::ClaudeCode {
                continue;
            }
            let mut hits: Vec<PathBuf> = place
                .files()?
                .into_iter()
                .filter(|file| file.name.as_ref() == Ok(&name))
                .map(|file| file.path)
                .collect();
            match hits.pop() {
                None => {}
                Some(path) if hits.is_empty() => return self.load(&place, name, path),
                Some(last) => {
                    hits.push(last);
                    return Err(RoleError::Ambiguous { name, paths: hits });
                }
            }
        }
        built_in.ok_or_else(|| {
            let known = self.catalogue(cwd).roles;
            let known = known.iter().map(|role| role.name.clone()).collect();
            RoleError::Unknown { name, known }
        })
    }

    /// Lists the roles for a working directory, and everything that is wrong.
    pub fn catalogue(&self, cwd: &Path) -> RoleCatalogue {
        let mut catalogue = RoleCatalogue::default();
        // What each name means; `None` for names that mean nothing usable.
        let mut meanings: BTreeMap<RoleName, Option<Arc<AgentRole>>> = BTreeMap::new();
        for place in places(cwd, &self.home, self.user_home.as_deref()) {
            match self.survey(&place, &mut catalogue.broken) {
                Ok(found) => {
                    for (name, role) in found {
                        meanings.entry(name).or_insert(role);
                    }
                }
                Err(error) => {
                    let path = place.directory().to_owned();
                    catalogue.broken.push(BrokenRole { path, error });
                    // It hides whatever lies behind it.
                    catalogue.roles = meanings.into_values().flatten().collect();
                    return catalogue;
                }
            }
        }
        for role in embedded::all() {
            meanings.entry(role.name.clone()).or_insert(Some(role));
        }
        catalogue.roles = meanings.into_values().flatten().collect();
        catalogue
    }

    /// Reads one file, wherever it lies.
    pub fn read(&self, path: &Path) -> Result<Arc<AgentRole>, RoleError> {
        if path.extension() != Some("md".as_ref()) {
            return Err(RoleError::FileName {
                path: path.to_owned(),
            });
        }
        let directory = path.parent().unwrap_or(Path::new(""));
        let place = if directory.ends_with(".claude/agents") {
            RoleDirectory::ClaudeProject(directory.to_owned())
        } else {
            RoleDirectory::Project(PathBuf::new())
        };
        match place.name_in(path) {
            Ok(name) => self.load(&place, name, path.to_owned()),
            Err(_) => Err(RoleError::FileName {
                path: path.to_owned(),
            }),
        }
    }

    /// Returns what each name means in one place, and reports what is wrong there.
    fn survey(
        &self,
        place: &RoleDirectory,
        broken: &mut Vec<BrokenRole>,
    ) -> Result<BTreeMap<RoleName, Option<Arc<AgentRole>>>, RoleError> {
        let mut found: BTreeMap<RoleName, Option<Arc<AgentRole>>> = BTreeMap::new();
        let mut paths: BTreeMap<RoleName, Vec<PathBuf>> = BTreeMap::new();
        for file in place.files()? {
            let path = file.path.clone();
            let read = match &file.name {
                Ok(name) => self.unless_hidden(place, name.clone(), path.clone()),
                Err(_) => Err(RoleError::FileName { path: path.clone() }),
            };
            let role = match read {
                Ok(role) => Some(role),
                Err(error @ RoleError::BuiltIn { .. }) => {
                    broken.push(BrokenRole { path, error });
                    continue;
                }
                Err(error) => {
                    broken.push(BrokenRole { path, error });
                    None
                }
            };
            if let Ok(name) = file.name {
                found.insert(name.clone(), role);
                paths.entry(name).or_default().push(file.path);
            }
        }
        for (name, paths) in paths {
            if let [path, _, ..] = paths.as_slice() {
                found.insert(name.clone(), None);
                let path = path.clone();
                let error = RoleError::Ambiguous { name, paths };
                broken.push(BrokenRole { path, error });
            }
        }
        Ok(found)
    }

    /// Loads a role, unless it is one of Claude Code's with the name of a built-in one: others
    /// count on what that is.
    fn unless_hidden(
        &self,
        place: &RoleDirectory,
        name: RoleName,
        path: PathBuf,
    ) -> Result<Arc<AgentRole>, RoleError> {
        let is_theirs = place.dialect() == RoleDialect::ClaudeCode;
        if is_theirs && embedded::find(&name).is_some() {
            return Err(RoleError::BuiltIn { name, path });
        }
        self.load(place, name, path)
    }

    fn load(
        &self,
        place: &RoleDirectory,
        name: RoleName,
        path: PathBuf,
    ) -> Result<Arc<AgentRole>, RoleError> {
        let role = self.cache.load(name, place, path)?;
        // Servers come and go while the file stays as it is.
        known_names::check(&role, self.servers.as_ref())?;
        Ok(role)
    }
}

#[cfg(test)]
mod tests;
