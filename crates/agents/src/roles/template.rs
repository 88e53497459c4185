//! A role file to begin with.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::name::RoleName;
use super::places::name_of;

/// What `troupe roles new` writes; `NAME` stands for the role's name.
const TEMPLATE: &str = include_str!("template.md");

/// Writes a commented role file into a directory of roles and returns its path.
///
/// A role of that name that is already there is never touched, also under another spelling:
/// two of them would be ambiguous.
pub fn create(directory: &Path, name: &RoleName) -> io::Result<PathBuf> {
    fs::create_dir_all(directory)?;
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let is_role = path.extension().is_some_and(|extension| extension == "md");
        if is_role && name_of(&path).is_ok_and(|other| other == *name) {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("{} is already there", path.display()),
            ));
        }
    }
    let path = directory.join(format!("{name}.md"));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)?;
    file.write_all(TEMPLATE.replace("NAME", name.as_str()).as_bytes())?;
    Ok(path)
}
