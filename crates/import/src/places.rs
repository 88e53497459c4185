//! Where other agents keep their conversations, and which of them are there.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::Value;
use troupe_protocol::rollout::ForeignAgent;
use troupe_store::UnixMillis;

use crate::fields::{owned, text};
use crate::limits::{FILES_LOOKED_AT_MAX, NAME_INDEX_BYTES_MAX};
use crate::takeover::ForeignConversation;

/// The directories of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignDirectories {
    pub agent: ForeignAgent,
    /// `$CODEX_HOME` or `$CLAUDE_CONFIG_DIR`, or what stands for them.
    pub home: PathBuf,
}

/// A conversation that was found.
#[derive(Debug)]
pub struct ImportCandidate {
    pub origin: ForeignConversation,
    /// When its file was written last.
    pub updated: UnixMillis,
}

/// What a search brought.
#[derive(Debug, Default)]
pub struct FoundConversations {
    /// Those that changed last come first.
    pub candidates: Vec<ImportCandidate>,
    /// Files that could not be read, and why.
    pub skipped: Vec<(PathBuf, String)>,
    /// There were more files than are looked at.
    pub is_cut: bool,
}

impl ForeignDirectories {
    /// Returns the directory that is searched.
    pub fn directory(&self, cwd: Option<&Path>) -> PathBuf {
        match (self.agent, cwd) {
            (ForeignAgent::Codex, _) => self.home.join("sessions"),
            (ForeignAgent::Claude, None) => self.home.join("projects"),
            (ForeignAgent::Claude, Some(cwd)) => self.home.join("projects").join(folder_of(cwd)),
        }
    }

    /// Looks for conversations that were had in `cwd`, or anywhere.
    pub fn search(&self, cwd: Option<&Path>) -> FoundConversations {
        let mut found = FoundConversations::default();
        let mut files = Vec::new();
        let depth = match (self.agent, cwd) {
            (ForeignAgent::Codex, _) => 3,
            (ForeignAgent::Claude, None) => 1,
            (ForeignAgent::Claude, Some(_)) => 0,
        };
        found.is_cut = !collect(&self.directory(cwd), depth, &mut files);
        files.sort_by_key(|(updated, path)| (std::cmp::Reverse(*updated), path.clone()));
        for (updated, path) in files {
            match ForeignConversation::open(&path) {
                Ok(origin) if origin.agent == self.agent && is_wanted(&origin, cwd) => {
                    found.candidates.push(ImportCandidate { origin, updated });
                }
                Ok(_) => {}
                Err(error) => found.skipped.push((path, error.to_string())),
            }
        }
        found
    }
}

/// Conversations of sub-agents, and those in which nobody has spoken, are nobody's to go on with.
fn is_wanted(origin: &ForeignConversation, cwd: Option<&Path>) -> bool {
    let heading = &origin.heading;
    let is_here = cwd.is_none_or(|cwd| heading.cwd.as_deref() == Some(cwd));
    is_here && !heading.is_child && heading.preview.is_some()
}

/// Returns the folder in which Claude Code keeps what was said in a directory.
fn folder_of(cwd: &Path) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    cwd.to_string_lossy().chars().map(letter).collect()
}

/// Collects plain files so many directories deep. Returns whether it saw all of them. Links are
/// not followed: they may lead anywhere, and in circles.
fn collect(directory: &Path, depth: usize, files: &mut Vec<(UnixMillis, PathBuf)>) -> bool {
    let Ok(entries) = fs::read_dir(directory) else {
        return true;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    // Folders of years, months and days: the newest first.
    paths.sort_by(|a, b| b.cmp(a));
    for path in paths {
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        let is_whole = if metadata.is_dir() && depth > 0 {
            collect(&path, depth - 1, files)
        } else if metadata.is_file() && path.extension().is_some_and(|kind| kind == "jsonl") {
            files.push((modified(&metadata), path));
            files.len() < FILES_LOOKED_AT_MAX
        } else {
            true
        };
        if !is_whole {
            return false;
        }
    }
    true
}

fn modified(metadata: &fs::Metadata) -> UnixMillis {
    let since = metadata.modified().ok();
    let since = since.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let millis = since.and_then(|since| i64::try_from(since.as_millis()).ok());
    UnixMillis(millis.unwrap_or_default())
}

/// Returns the name that Codex keeps beside its rollouts, in `session_index.jsonl`.
pub(crate) fn name_beside(origin: &ForeignConversation) -> Option<String> {
    if origin.agent != ForeignAgent::Codex {
        return None;
    }
    let id = origin.heading.id.as_deref()?;
    let is_sessions = |it: &&Path| it.ends_with("sessions") || it.ends_with("archived_sessions");
    let home = origin.file.path().ancestors().find(is_sessions)?.parent()?;
    let index = home.join("session_index.jsonl");
    let metadata = fs::symlink_metadata(&index).ok()?;
    let file = metadata.is_file().then(|| fs::File::open(&index).ok())??;
    let lines = BufReader::new(file.take(NAME_INDEX_BYTES_MAX)).lines();
    let names = lines.map_while(Result::ok).filter_map(|line| {
        let line: Value = serde_json::from_str(&line).ok()?;
        (text(&line, "id") == Some(id)).then(|| owned(&line, "thread_name"))?
    });
    // The newest one counts.
    names.last().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_after_directories() {
        let folder = folder_of(Path::new("/home/me/my_project.rs"));
        assert_eq!(folder, "-home-me-my-project-rs");
    }
}
