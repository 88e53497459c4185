//! Reads files that other people may have put there.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path};

use super::error::{SchemaProblem, too_large};
use super::limits::FILE_BYTES_MAX;
use super::role::RoleOrigin;

/// Reads a regular file of bounded size.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new()
        .read(true)
        // Without it, opening a named pipe waits for a writer.
        .custom_flags(libc::O_NONBLOCK)
        .open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(too_large());
    }
    let mut text = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    // It may have grown since.
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut text)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(too_large());
    }
    Ok(text)
}

/// Reads the schema that a role names, which lies beside or below it.
pub(super) fn read_schema(role: &RoleOrigin, path: &str) -> Result<Vec<u8>, SchemaProblem> {
    let unreadable = |error: io::Error| SchemaProblem::Unreadable(error.to_string());
    let directory = match role.path().and_then(Path::parent) {
        None => return Err(SchemaProblem::Outside),
        Some(here) if here.as_os_str().is_empty() => Path::new("."),
        Some(directory) => directory,
    };
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if path.is_empty() || !Path::new(path).components().all(plain) {
        return Err(SchemaProblem::Outside);
    }
    let file = directory.join(path);
    // What a project says goes to the model. A link in it must not send the user's files
    // along; in the user's own directory links are the user's business.
    if let RoleOrigin::Project(_) = role {
        let real = file.canonicalize().map_err(unreadable)?;
        let inside = directory.canonicalize().map_err(unreadable)?;
        if !real.starts_with(inside) {
            return Err(SchemaProblem::Outside);
        }
        return read(&real).map_err(unreadable);
    }
    read(&file).map_err(unreadable)
}
