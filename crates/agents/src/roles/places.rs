//! Where role files lie, nearest first.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use troupe_process::holds_repository;

use super::error::RoleError;
use super::limits::PLACE_FILES_MAX;
use super::name::{BadName, RoleName};
use super::role::{RoleDialect, RoleOrigin};
use super::{claude, file};

/// A directory of role files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RoleDirectory {
    Project(PathBuf),
    Home(PathBuf),
    /// Claude Code's, in a project.
    ClaudeProject(PathBuf),
    /// Claude Code's, in the user's home directory.
    ClaudeHome(PathBuf),
}

/// A file in a place, and the role that it holds if its name is one.
#[derive(Debug)]
pub(super) struct RoleFile {
    pub name: Result<RoleName, BadName>,
    pub path: PathBuf,
}

/// Returns the places for a working directory: `.troupe/agents` and `.claude/agents` in it and in
/// the directories above it, up to the repository's root, then `agents` in the home, then
/// `.claude/agents` in the user's home directory.
///
/// Outside a repository only the working directory itself counts: what lies further up may be
/// anybody's.
pub(super) fn places(cwd: &Path, home: &Path, user_home: Option<&Path>) -> Vec<RoleDirectory> {
    let home = home.join("agents");
    let claude_home = user_home.map(claude_directory);
    let in_repository = cwd.ancestors().position(holds_repository);
    let mut places: Vec<RoleDirectory> = cwd
        .ancestors()
        .take(in_repository.unwrap_or(0) + 1)
        .flat_map(|directory| {
            let own = RoleDirectory::Project(project_directory(directory));
            [
                own,
                RoleDirectory::ClaudeProject(claude_directory(directory)),
            ]
        })
        .filter(|place| {
            place.directory() != home && Some(place.directory()) != claude_home.as_deref()
        })
        .collect();
    places.push(RoleDirectory::Home(home));
    places.extend(claude_home.map(RoleDirectory::ClaudeHome));
    places
}

fn claude_directory(directory: &Path) -> PathBuf {
    directory.join(".claude").join("agents")
}

/// Returns where the roles of the project in `directory` lie.
pub fn project_directory(directory: &Path) -> PathBuf {
    directory.join(".troupe").join("agents")
}

impl RoleDirectory {
    pub fn directory(&self) -> &Path {
        match self {
            Self::Project(directory)
            | Self::Home(directory)
            | Self::ClaudeProject(directory)
            | Self::ClaudeHome(directory) => directory,
        }
    }

    pub fn origin(&self, path: PathBuf) -> RoleOrigin {
        match self {
            Self::Project(_) | Self::ClaudeProject(_) => RoleOrigin::Project(path),
            Self::Home(_) | Self::ClaudeHome(_) => RoleOrigin::Home(path),
        }
    }

    pub fn dialect(&self) -> RoleDialect {
        match self {
            Self::Project(_) | Self::Home(_) => RoleDialect::Own,
            Self::ClaudeProject(_) | Self::ClaudeHome(_) => RoleDialect::ClaudeCode,
        }
    }

    /// Returns the name of the role in a file: its own name, or what Claude Code's says it is.
    pub fn name_in(&self, path: &Path) -> Result<RoleName, BadName> {
        let text = match self.dialect() {
            RoleDialect::Own => None,
            RoleDialect::ClaudeCode => file::read(path).ok(),
        };
        let text = text.and_then(|text| String::from_utf8(text).ok());
        match text.and_then(|text| claude::name_in(&text)) {
            Some(name) => RoleName::parse(&name),
            None => name_of(path),
        }
    }

    /// Lists the role files, by path. A place that is not there is empty; one that cannot
    /// be listed is an error, because it may hold a stricter role than the next place.
    pub fn files(&self) -> Result<Vec<RoleFile>, RoleError> {
        let directory = self.directory();
        let failed = |source: io::Error| RoleError::Place {
            path: directory.to_owned(),
            source,
        };
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            if !is_role_file(&path) {
                continue;
            }
            if found.len() == PLACE_FILES_MAX {
                return Err(RoleError::Crowded {
                    path: directory.to_owned(),
                });
            }
            let name = self.name_in(&path);
            found.push(RoleFile { name, path });
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }
}

/// Tells whether a file in a place is meant to be a role. What begins with a dot is an
/// editor's or the system's.
fn is_role_file(path: &Path) -> bool {
    let hidden = path
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    !hidden && path.extension() == Some(OsStr::new("md"))
}

/// Returns the name of the role that a file holds.
pub(super) fn name_of(path: &Path) -> Result<RoleName, BadName> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    RoleName::parse(&stem)
}
