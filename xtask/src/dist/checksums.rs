//! `SHA256SUMS`, as `sha256sum --check` reads it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

pub fn write(files: &[PathBuf], out: &Path) -> Result<PathBuf> {
    let mut text = String::new();
    for file in files {
        let name = file.file_name().context("a package without a name")?;
        let digest = Sha256::digest(fs::read(file)?);
        writeln!(text, "{digest:x}  {}", name.to_string_lossy())?;
    }
    let path = out.join("SHA256SUMS");
    fs::write(&path, text)?;
    Ok(path)
}
