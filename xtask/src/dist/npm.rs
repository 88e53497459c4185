//! The npm package: `npm install -g troupe-cli-VERSION.tgz`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use super::program::{Program, output};
use super::{DESCRIPTION, PACKAGE};
use crate::test::root;

pub fn make(program: &Program, staging: &Path, out: &Path) -> Result<PathBuf> {
    let folder = staging.join("npm");
    fs::create_dir_all(folder.join("bin"))?;
    fs::copy(&program.path, folder.join("bin/troupe"))?;
    fs::copy(root().join("LICENSE"), folder.join("LICENSE"))?;
    fs::copy(root().join("README.md"), folder.join("README.md"))?;
    let manifest = serde_json::to_string_pretty(&manifest(program))?;
    fs::write(folder.join("package.json"), manifest)?;
    let packed = output(
        Command::new("npm")
            .args(["pack", "--loglevel=error", "--pack-destination"])
            .arg(out)
            .current_dir(&folder),
    )?;
    Ok(out.join(packed.trim()))
}

/// The program is its own command: no script of ours runs when it is installed or started.
fn manifest(program: &Program) -> Value {
    json!({
        "name": PACKAGE,
        "version": program.version,
        "description": DESCRIPTION,
        "license": "Apache-2.0",
        "bin": {"troupe": "bin/troupe"},
        "files": ["bin"],
        "os": ["linux"],
        "cpu": [program.platform.node_cpu],
        "libc": ["glibc"],
    })
}
