//! Where things are in a home:
//!
//! ```text
//! sessions/YYYY/MM/DD/rollout-YYYY-MM-DDThh-mm-ss-<id>.jsonl     (the time is UTC)
//! archived_sessions/rollout-….jsonl
//! state.db
//! ```
//!
//! A file's name holds its session's id, so an id or a prefix of one is found by listing
//! directories; the index is not needed to resume.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use troupe_protocol::SessionId;

use crate::clock::UnixMillis;
use crate::error::StoreError;
use crate::index::LogLocation;
use crate::limits::{CANDIDATES_MAX, ID_PREFIX_CHARS_MIN};

const DIRECTORY_MODE: u32 = 0o700;

const INDEX_NAME: &str = "state.db";

#[derive(Debug, Clone)]
pub(crate) struct HomeLayout {
    home: PathBuf,
    index: PathBuf,
}

/// A rollout that was met while listing directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundRollout {
    pub(crate) id: SessionId,
    pub(crate) path: PathBuf,
    pub(crate) archived: bool,
}

impl HomeLayout {
    pub(crate) fn new(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            index: home.join(INDEX_NAME),
        }
    }

    /// Uses a copy of the index, so that nothing is written into the home.
    pub(crate) fn with_copied_index(self, scratch: &Path) -> Result<Self, StoreError> {
        let index = scratch.join(INDEX_NAME);
        for suffix in ["", "-wal"] {
            let beside = |path: &Path| {
                let mut name = path.as_os_str().to_owned();
                name.push(suffix);
                PathBuf::from(name)
            };
            let (from, to) = (beside(&self.index), beside(&index));
            // What is not there, or no file, is found by reading the logs.
            if fs::symlink_metadata(&from).is_ok_and(|found| found.is_file()) {
                fs::copy(&from, &to).map_err(|source| StoreError::io("copy", &from, source))?;
            }
        }
        Ok(Self { index, ..self })
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.index.clone()
    }

    fn sessions(&self) -> PathBuf {
        self.home.join("sessions")
    }

    fn archive(&self) -> PathBuf {
        self.home.join("archived_sessions")
    }

    pub(crate) fn new_log(&self, id: SessionId, created: UnixMillis) -> PathBuf {
        let time = created.to_jiff().strftime("%Y-%m-%dT%H-%M-%S");
        let name = format!("rollout-{time}-{id}.jsonl");
        self.day_directory(&name).join(name)
    }

    pub(crate) fn archived_log(&self, file_name: &str) -> PathBuf {
        self.archive().join(file_name)
    }

    /// Returns where a log lives when it is not archived.
    pub(crate) fn live_log(&self, file_name: &str) -> PathBuf {
        self.day_directory(file_name).join(file_name)
    }

    /// The name begins with `rollout-YYYY-MM-DD`.
    fn day_directory(&self, file_name: &str) -> PathBuf {
        let mut directory = self.sessions();
        let day = file_name.get(8..18).unwrap_or_default();
        directory.extend(day.split('-'));
        directory
    }

    /// Returns the log of a session. Newer days are searched first.
    pub(crate) fn find(&self, id: SessionId) -> Result<FoundRollout, StoreError> {
        let mut found = None;
        self.visit(&mut |candidate| {
            if candidate.id == id {
                found = Some(candidate);
            }
            found.is_none()
        })?;
        found.ok_or_else(|| StoreError::not_found(id))
    }

    /// Returns how the index names a log.
    pub(crate) fn log_at(&self, found: &FoundRollout) -> LogLocation {
        LogLocation {
            id: found.id,
            path: Some(self.below_home(&found.path)),
            archived: found.archived,
        }
    }

    /// A home can be moved; what is kept in it does not say where it is.
    fn below_home(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.home).unwrap_or(path).to_owned()
    }

    /// Returns every log of the home, the newest day first.
    pub(crate) fn all(&self) -> Result<Vec<FoundRollout>, StoreError> {
        let mut all = Vec::new();
        self.visit(&mut |found| {
            all.push(found);
            true
        })?;
        Ok(all)
    }

    /// Shows each log to `wants_more` until it has seen enough.
    fn visit(&self, wants_more: &mut dyn FnMut(FoundRollout) -> bool) -> Result<(), StoreError> {
        let mut pending = vec![
            (self.archive(), DirectoryLevel::Archive),
            (self.sessions(), DirectoryLevel::Years),
        ];
        while let Some((directory, level)) = pending.pop() {
            // Ascending, so that the last one pushed, which is looked at next, is the newest.
            for name in names(&directory)? {
                let path = directory.join(&name);
                if let Some(below) = level.below() {
                    if is_number(&name) {
                        pending.push((path, below));
                    }
                } else if let Some(id) = session_of(&name) {
                    let archived = level == DirectoryLevel::Archive;
                    if !wants_more(FoundRollout { id, path, archived }) {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}

/// What the entries of a directory are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DirectoryLevel {
    Years,
    Months,
    Days,
    Logs,
    /// Logs too, all in one place.
    Archive,
}

impl DirectoryLevel {
    fn below(self) -> Option<Self> {
        match self {
            Self::Years => Some(Self::Months),
            Self::Months => Some(Self::Days),
            Self::Days => Some(Self::Logs),
            Self::Logs | Self::Archive => None,
        }
    }
}

/// Finds the one id that begins with `typed`. `None` if `typed` is no id or none has it.
pub(crate) fn match_id(
    typed: &str,
    ids: impl Iterator<Item = SessionId>,
) -> Result<Option<SessionId>, StoreError> {
    let prefix = typed.replace('-', "").to_ascii_lowercase();
    if prefix.len() < ID_PREFIX_CHARS_MIN || !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let mut candidates: Vec<SessionId> = ids
        .filter(|id| id.0.simple().to_string().starts_with(&prefix))
        .collect();
    match candidates[..] {
        [] => Ok(None),
        [id] => Ok(Some(id)),
        [..] => {
            candidates.truncate(CANDIDATES_MAX);
            Err(StoreError::Ambiguous {
                text: typed.to_owned(),
                candidates,
            })
        }
    }
}

/// Returns the id at the end of a rollout's name.
fn session_of(file_name: &str) -> Option<SessionId> {
    const ID_CHARS: usize = 36;
    let stem = file_name.strip_prefix("rollout-")?.strip_suffix(".jsonl")?;
    let id = stem.get(stem.len().checked_sub(ID_CHARS)?..)?;
    id.parse().ok()
}

fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the sorted names in a directory; none if there is no such directory.
fn names(directory: &Path) -> Result<Vec<String>, StoreError> {
    let read = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(directory)? {
            // A name that is not UTF-8 is none of ours.
            names.extend(entry?.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    };
    match read() {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(Vec::new())
        }
        result => result.map_err(|source| StoreError::read(directory, source)),
    }
}

/// Creates a directory that only its owner can enter, and its parents. Returns the
/// directories that got a new entry, which are to be synced for the new ones to last.
pub(crate) fn create_directory(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut changed = Vec::new();
    let mut missing = Vec::new();
    for ancestor in path.ancestors() {
        if ancestor.as_os_str().is_empty() || ancestor.is_dir() {
            break;
        }
        missing.push(ancestor);
    }
    for directory in missing.into_iter().rev() {
        match DirBuilder::new().mode(DIRECTORY_MODE).create(directory) {
            // Another process was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => {}
            Err(source) => return Err(StoreError::io("create", directory, source)),
            Ok(()) => {}
        }
        changed.extend(directory.parent().map(Path::to_owned));
    }
    Ok(changed)
}

#[cfg(test)]
mod tests;
