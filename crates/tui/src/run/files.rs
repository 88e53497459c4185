//! The files that `@` offers.

use std::path::{Path, PathBuf};

use crate::limits::FILES_MAX;

/// Returns the files below a directory, as paths from there, without what git ignores.
pub(super) fn files_below(directory: &Path) -> Vec<String> {
    let walk = ignore::WalkBuilder::new(directory).build();
    let relative = |entry: ignore::DirEntry| -> Option<PathBuf> {
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        is_file.then(|| {
            entry
                .path()
                .strip_prefix(directory)
                .ok()
                .map(Path::to_path_buf)
        })?
    };
    let files = walk.filter_map(Result::ok).filter_map(relative);
    files
        .take(FILES_MAX)
        .filter_map(|path| path.into_os_string().into_string().ok())
        .collect()
}
