//! Taking back what turns did to files: what is asked, what is told, what is kept.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::id::SubmissionId;

/// What is to be taken back. The conversation stays as it is; `thread_rollback` is for that.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct UndoRequest {
    /// How many turns that changed files; the last one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_turns: Option<u32>,
    /// Only tell what would happen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Take back what can be, and leave the files that are not as the turns left them. Else
    /// one such file is enough for nothing to be touched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partly: bool,
    /// Take back the last undo instead.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redo: bool,
}

/// What became of an `undo`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct UndoCompleted {
    /// Whether anything was, or would be, taken back.
    pub success: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The turns that it was about, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<SubmissionId>,
    /// Files that have their earlier contents again.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        with = "crate::path::list"
    )]
    #[cfg_attr(test, schemars(with = "Vec<String>"), ts(as = "Vec<String>"))]
    pub restored: Vec<PathBuf>,
    /// Files and directories that are gone again.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        with = "crate::path::list"
    )]
    #[cfg_attr(test, schemars(with = "Vec<String>"), ts(as = "Vec<String>"))]
    pub removed: Vec<PathBuf>,
    /// Files that were left as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<UndoConflict>,
    /// What the turns may have changed besides, and nobody saw.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct UndoConflict {
    #[serde(with = "crate::path")]
    #[cfg_attr(test, schemars(with = "String"), ts(as = "String"))]
    pub path: PathBuf,
    pub reason: String,
}

/// What stood in a place of the file system at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum FileState {
    Absent,
    /// A regular file, with the SHA-256 of its contents in hex.
    File {
        sha256: String,
        mode: u32,
    },
    /// A symbolic link, with where it leads.
    Link {
        #[serde(with = "crate::path")]
        #[cfg_attr(test, schemars(with = "String"), ts(as = "String"))]
        target: PathBuf,
    },
    /// Something that is not kept, in words: a device, a file that is too large.
    Other {
        what: String,
    },
}

impl FileState {
    /// Tells whether both are the same to who reads or runs the file.
    pub fn is_same(&self, other: &Self) -> bool {
        let executable = |mode: u32| mode & 0o111 != 0;
        match (self, other) {
            (
                Self::File { sha256, mode },
                Self::File {
                    sha256: theirs,
                    mode: their_mode,
                },
            ) => sha256 == theirs && executable(*mode) == executable(*their_mode),
            _ => self == other,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FileBefore {
    #[serde(with = "crate::path")]
    #[cfg_attr(test, schemars(with = "String"), ts(as = "String"))]
    pub path: PathBuf,
    pub before: FileState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ChangedFile {
    #[serde(with = "crate::path")]
    #[cfg_attr(test, schemars(with = "String"), ts(as = "String"))]
    pub path: PathBuf,
    pub before: FileState,
    pub after: FileState,
}

/// A snapshot of a work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FileTree {
    /// The top of the work tree.
    #[serde(with = "crate::path")]
    #[cfg_attr(test, schemars(with = "String"), ts(as = "String"))]
    pub root: PathBuf,
    /// What of it was looked at, relative to the top; all of it if empty.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        with = "crate::path::list"
    )]
    #[cfg_attr(test, schemars(with = "Vec<String>"), ts(as = "Vec<String>"))]
    pub parts: Vec<PathBuf>,
    /// Its name in the store of snapshots.
    pub tree: String,
}

/// A line about files, from which it follows what can be taken back. Such lines count on
/// every branch of a conversation: going back in it does not touch files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema, ts_rs::TS))]
pub enum FileFact {
    /// The files of a repository as they are before the turn's first command that may write.
    Tree {
        turn_id: SubmissionId,
        #[serde(flatten)]
        tree: FileTree,
    },
    /// Files as they are before a patch of the turn touches them.
    Touching {
        turn_id: SubmissionId,
        files: Vec<FileBefore>,
    },
    /// The turn is over. With this line it counts as one that can be taken back.
    Changed {
        turn_id: SubmissionId,
        files: Vec<ChangedFile>,
        /// Directories that it made.
        #[serde(
            default,
            skip_serializing_if = "Vec::is_empty",
            with = "crate::path::list"
        )]
        #[cfg_attr(test, schemars(with = "Vec<String>"), ts(as = "Vec<String>"))]
        directories: Vec<PathBuf>,
        /// Why not everything that it changed is known.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unseen: Vec<String>,
    },
    /// Turns are being taken back. Written before a file is touched.
    Undone {
        /// Which: the number of each among the session's turns that changed files, from 0.
        numbers: Vec<u32>,
        files: Vec<ChangedFile>,
        /// Directories that are removed with what was in them.
        #[serde(
            default,
            skip_serializing_if = "Vec::is_empty",
            with = "crate::path::list"
        )]
        #[cfg_attr(test, schemars(with = "Vec<String>"), ts(as = "Vec<String>"))]
        directories: Vec<PathBuf>,
    },
    /// The last undo is being taken back, or could not be done.
    Redone,
}
