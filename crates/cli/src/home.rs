//! Where Troupe keeps its things.

use std::env;
use std::path::{Path, PathBuf};

use troupe_engine::skills::SkillPlaces;
use troupe_process::holds_repository;

use crate::failure::CommandFailure;

/// The part of the home that a model may read, because its skills lie there.
pub const SKILLS_DIRECTORY: &str = "skills";

/// `$TROUPE_HOME`, else `~/.troupe`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TroupeHome(PathBuf);

impl TroupeHome {
    pub fn find() -> Result<Self, CommandFailure> {
        let named = env::var_os("TROUPE_HOME").filter(|path| !path.is_empty());
        match named {
            Some(path) => {
                let path = PathBuf::from(path);
                let path = std::path::absolute(&path).unwrap_or(path);
                Ok(Self(path))
            }
            None => user_home()
                .map(|home| Self(home.join(".troupe")))
                .ok_or_else(|| {
                    CommandFailure::usage("neither TROUPE_HOME nor HOME is set; set one of them")
                }),
        }
    }

    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn config_file(&self) -> PathBuf {
        self.0.join("config.toml")
    }

    /// The user's rules about commands.
    pub fn rules_file(&self) -> PathBuf {
        self.0.join("rules.toml")
    }

    /// Where the diagnostic log is.
    pub fn log_directory(&self) -> PathBuf {
        self.0.join("log")
    }

    /// Where skills lie that belong to no project.
    pub fn skill_places(&self) -> SkillPlaces {
        let others = [".agents/skills", ".claude/skills"];
        let everybodys = user_home().map(|home| others.map(|place| home.join(place)));
        let own = self.0.join(SKILLS_DIRECTORY);
        SkillPlaces {
            user: std::iter::once(own)
                .chain(everybodys.into_iter().flatten())
                .collect(),
            system: vec![PathBuf::from("/etc/troupe/skills")],
        }
    }

    /// The user's instructions for all projects.
    pub fn instructions_file(&self) -> PathBuf {
        self.0.join("AGENTS.md")
    }
}

/// Returns the working directory.
pub fn here() -> Result<PathBuf, CommandFailure> {
    env::current_dir().map_err(|error| {
        let what = "the working directory cannot be told; was it deleted?";
        CommandFailure::not_started(anyhow::Error::new(error).context(what))
    })
}

/// Returns the user's home directory.
pub fn user_home() -> Option<PathBuf> {
    env::var_os("HOME")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
}

/// Returns the directory that holds `.git` (a directory, or the file of a worktree), at or
/// above `directory`. Asking git would cost a process.
pub fn repository_root(directory: &Path) -> Option<&Path> {
    directory
        .ancestors()
        .find(|ancestor| holds_repository(ancestor))
}
