//! Repositories in temporary directories that were there before the policy was set up: somebody
//! else's, or of an earlier session. Those that a command clones later are the agent's.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cage::Cage;
use crate::limits::{
    NESTED_TEMPORARY_DEPTH_MAX, NESTED_TEMPORARY_ENTRIES_MAX, NESTED_TEMPORARY_MS_MAX,
    NESTED_TEMPORARY_PATHS_MAX,
};

/// Returns the `.git` directories and pointer files in the temporary directories of a cage. Blocks,
/// and ends at its limits.
pub(super) fn repositories(cage: &Cage) -> Vec<PathBuf> {
    let until = Instant::now() + Duration::from_millis(NESTED_TEMPORARY_MS_MAX);
    let is_known = |path: &PathBuf| {
        let known = [
            &cage.hidden,
            &cage.protected,
            &cage.workspaces,
            &cage.writable,
        ];
        known.into_iter().flatten().any(|it| it == path)
    };
    let temporary = cage.writable.iter().filter(|root| {
        let is_everything = root.parent().is_none();
        !is_everything && !cage.workspaces.contains(root)
    });
    let mut open: VecDeque<_> = temporary.map(|root| (root.clone(), 0)).collect();
    let mut found = Vec::new();
    let mut entries = 0;
    while let Some((directory, depth)) = open.pop_front() {
        // One that cannot be listed is another user's, and so is what is in it.
        for entry in directory.read_dir().into_iter().flatten().flatten() {
            entries += 1;
            let is_over = entries > NESTED_TEMPORARY_ENTRIES_MAX || Instant::now() > until;
            if is_over || found.len() == NESTED_TEMPORARY_PATHS_MAX {
                return found;
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if is_known(&path) || kind.is_symlink() {
                continue;
            }
            if path.ends_with(".git") {
                // One temporary directory may lie in another.
                if !found.contains(&path) {
                    found.push(path);
                }
            } else if kind.is_dir() && depth < NESTED_TEMPORARY_DEPTH_MAX {
                open.push_back((path, depth + 1));
            }
        }
    }
    found
}
