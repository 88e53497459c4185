//! Files below the directory that a session works in, reached without symbolic links.
//!
//! A command can put a link where a directory was. What is behind it is not the file that the
//! turn knew by that path, so whatever lies below a link, or below a file, is absent. Which way
//! stands open is the kernel's word (`openat2`), for looking as well as for writing.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use troupe_patch::PlanError;
use troupe_patch::target::{PatchTarget, TargetEntry, TargetResolver};
use troupe_protocol::undo::FileState;

use super::file_state::{other, repository, sha256, too_large};

/// The top of a work tree, held open.
#[derive(Debug)]
pub(super) struct WorkTreeRoot {
    root: PathBuf,
    real: PathBuf,
    inside: TargetResolver,
    /// For files that a person agreed to.
    anywhere: TargetResolver,
}

/// What stands at a path.
#[derive(Debug)]
pub(super) struct PathSighting {
    pub state: FileState,
    /// Of a regular file.
    pub content: Option<Vec<u8>>,
    /// What is on the way to it and is no directory.
    pub blocker: Option<PathBuf>,
    /// It is a directory: of the files that undo knows, there is none at this path.
    pub is_directory: bool,
}

impl WorkTreeRoot {
    pub(super) fn open(root: &Path) -> Result<Self, String> {
        let failed = |error: PlanError| error.to_string();
        let real = root.canonicalize();
        Ok(Self {
            real: real.map_err(|error| format!("{} cannot be found: {error}", root.display()))?,
            root: root.to_owned(),
            inside: TargetResolver::without_links(root).map_err(failed)?,
            anywhere: TargetResolver::without_links(Path::new("/")).map_err(failed)?,
        })
    }

    /// Returns the path of a file as git would name it: with no link below the top.
    pub(super) fn real_name(&self, path: &Path) -> PathBuf {
        let Some(name) = path.file_name() else {
            return path.to_owned();
        };
        let mut missing: Vec<OsString> = vec![name.to_owned()];
        let mut directory = path.parent();
        while let Some(known) = directory {
            if let Ok(real) = known.canonicalize() {
                let below = missing.iter().rev().collect::<PathBuf>();
                let real = real.join(below);
                let inside = real.strip_prefix(&self.real).map(|it| self.root.join(it));
                return inside.unwrap_or(real);
            }
            missing.extend(known.file_name().map(OsString::from));
            directory = known.parent();
        }
        path.to_owned()
    }

    /// Finds the place of a file, to write there.
    pub(super) fn place(&self, path: &Path) -> Result<PatchTarget, PlanError> {
        let is_inside = path.starts_with(&self.root) || path.starts_with(&self.real);
        let resolver = if is_inside {
            &self.inside
        } else {
            &self.anywhere
        };
        resolver.resolve_path(path, &path.to_string_lossy())
    }

    /// Removes a directory with nothing in it. Tells whether it is gone.
    pub(super) fn remove_empty(&self, path: &Path) -> bool {
        let place = self.place(path);
        place.is_ok_and(|place| place.remove_directory().is_ok())
    }

    /// Makes a directory, and those on the way to it that are missing.
    pub(super) fn make_directory(&self, path: &Path) -> Result<(), String> {
        let place = self.place(path).map_err(|error| error.to_string())?;
        place.make_directory().map_err(|error| error.to_string())
    }

    /// Looks at a file. Blocks on the file system.
    pub(super) fn look(&self, path: &Path) -> PathSighting {
        let place = match self.place(path) {
            Ok(place) => place,
            Err(PlanError::ParentNotDirectory { .. } | PlanError::Symlink { .. }) => {
                return PathSighting {
                    blocker: blocker(path, &self.root),
                    ..PathSighting::of(FileState::Absent)
                };
            }
            Err(error) => return PathSighting::of(other(error.to_string())),
        };
        match place.look() {
            Ok(TargetEntry::Absent) => PathSighting::of(FileState::Absent),
            Ok(TargetEntry::File { attributes, .. }) => match place.read() {
                Ok(content) => PathSighting {
                    content: Some(content.clone()),
                    ..PathSighting::of(FileState::File {
                        sha256: sha256(&content),
                        mode: attributes.mode.bits() & 0o7777,
                    })
                },
                Err(PlanError::TooLarge { .. }) => PathSighting::of(too_large()),
                Err(error) => PathSighting::of(other(error.to_string())),
            },
            Ok(TargetEntry::Symlink { target, .. }) => PathSighting::of(FileState::Link { target }),
            Ok(TargetEntry::Directory) => PathSighting {
                is_directory: true,
                ..PathSighting::of(if path.join(".git").symlink_metadata().is_ok() {
                    repository()
                } else {
                    FileState::Absent
                })
            },
            Ok(TargetEntry::Special) => PathSighting::of(other("it is not a regular file")),
            Err(error) => PathSighting::of(other(error.to_string())),
        }
    }
}

impl PathSighting {
    fn of(state: FileState) -> Self {
        Self {
            state,
            content: None,
            blocker: None,
            is_directory: false,
        }
    }
}

/// Returns the topmost thing on the way to a file that is there and is no directory.
fn blocker(path: &Path, root: &Path) -> Option<PathBuf> {
    let mut way: Vec<&Path> = path.ancestors().skip(1).collect();
    way.reverse();
    let is_below = path.starts_with(root);
    let way = way
        .into_iter()
        .filter(|part| !is_below || (part.starts_with(root) && *part != root));
    let is_in_the_way = |part: &&Path| {
        let metadata = part.symlink_metadata();
        metadata.is_ok_and(|metadata| !metadata.is_dir())
    };
    way.into_iter().find(is_in_the_way).map(Path::to_owned)
}
