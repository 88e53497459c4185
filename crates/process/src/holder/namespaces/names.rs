//! Names of repositories that no command may take, where there is none.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::mounts;
use crate::cage::Cage;
use crate::placeholder::{self, PlaceholderShare};

/// Held for one command, and given up when the last process of it is gone.
#[derive(Debug, Default)]
pub(crate) struct HeldNames(Vec<PlaceholderShare>);

impl HeldNames {
    /// Holds what can be held; the witness watches the rest. Only the calling process's own mount
    /// namespace changes.
    pub fn hold(cage: &Cage) -> Self {
        let is_free =
            |path: &&PathBuf| is_wanted(path, cage) && placeholder::metadata(path).is_err();
        let free = cage.protected.iter().filter(is_free);
        Self(free.filter_map(|path| hold(path)).collect())
    }
}

impl Drop for HeldNames {
    fn drop(&mut self) {
        for held in self.0.drain(..) {
            // A mount in a namespace that nobody else is in goes with it in any case.
            let _ = mounts::uncover(&held.path);
            held.give_back();
        }
    }
}

/// Settings of a project are no danger where they come from: they count only if the user has
/// trusted them as they are. Temporary directories are shared with others, but not the ones in
/// them that a workspace lies in.
fn is_wanted(path: &Path, cage: &Cage) -> bool {
    let is_settings = path.file_name() == Some(OsStr::new(".troupe"));
    let directory = path.parent().map(Path::to_path_buf);
    let around = directory.filter(|it| !cage.writable.contains(it));
    let is_near = |workspace: &PathBuf| {
        let is_around = around.as_ref().is_some_and(|it| workspace.starts_with(it));
        path.starts_with(workspace) || is_around
    };
    !is_settings && cage.workspaces.iter().any(is_near)
}

fn hold(path: &Path) -> Option<PlaceholderShare> {
    let held = PlaceholderShare::hold(path).ok()?;
    if mounts::cover_directory(path).is_err() {
        held.give_back();
        return None;
    }
    Some(held)
}
