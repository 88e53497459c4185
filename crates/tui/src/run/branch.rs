//! The branch of a directory, as git keeps it in a file.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::limits::GIT_HEAD_BYTES_MAX;

/// Returns the branch that the repository around a directory is on, or the beginning of the
/// commit; none where there is no repository.
pub(super) fn branch_of(directory: &Path) -> Option<String> {
    let git = directory.ancestors().map(|above| above.join(".git"));
    let git = git.into_iter().find(|path| path.exists())?;
    let git = if git.is_file() {
        // A worktree of a repository that is elsewhere.
        let text = beginning_of(&git)?;
        let place = text.trim().strip_prefix("gitdir:")?.trim();
        git.parent()?.join(place)
    } else {
        git
    };
    let head = beginning_of(&git.join("HEAD"))?;
    let head = head.trim();
    Some(match head.strip_prefix("ref: refs/heads/") {
        Some(branch) => branch.to_owned(),
        None => head.chars().take(8).collect(),
    })
}

fn beginning_of(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(GIT_HEAD_BYTES_MAX)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}
