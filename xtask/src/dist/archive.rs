//! The archive: the program, the licence and the manual, for whoever unpacks by hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::program::Program;
use crate::test::{root, succeed};

pub fn make(program: &Program, staging: &Path, out: &Path) -> Result<PathBuf> {
    let name = format!("troupe-{}-{}", program.version, program.platform.target);
    let folder = staging.join(&name);
    fs::create_dir(&folder)?;
    fs::copy(&program.path, folder.join("troupe"))?;
    for document in ["LICENSE", "README.md"] {
        fs::copy(root().join(document), folder.join(document))?;
    }
    let archive = out.join(format!("{name}.tar.gz"));
    // The same program makes the same archive, whoever packs it and when.
    succeed(
        Command::new("tar")
            .args([
                "--create",
                "--use-compress-program",
                "gzip --no-name --best",
            ])
            .args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0"])
            .arg("--numeric-owner")
            .arg("--file")
            .arg(&archive)
            .arg("--directory")
            .arg(staging)
            .arg(&name),
    )?;
    Ok(archive)
}
