//! `cargo xtask test`: everything, from set-up to the last client.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

/// For each fuzz target; they run side by side.
const FUZZ_SECONDS: u64 = 60;

/// Runs all tests. What they need beside Rust is installed first, below `tests/external`.
pub fn run() -> Result<()> {
    let root = root();
    step("set-up of foreign clients and servers");
    succeed(&mut Command::new(root.join("tests/external/setup.sh")))?;
    step("cargo test");
    succeed(Command::new(env!("CARGO")).args(["test", "--workspace", "--quiet"]))?;
    crate::ordinary_user::run()?;
    crate::fuzz::fuzz(FUZZ_SECONDS, Vec::new())?;
    step("foreign clients and servers");
    succeed(
        Command::new("node")
            .args(["--test", "--test-reporter=spec"])
            .args(test_files(&root.join("tests/external"))?)
            .env("TROUPE_BIN", root.join("target/debug/troupe")),
    )
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default()
}

fn test_files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".test.mjs") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        bail!("there are no *.test.mjs files in {}", dir.display());
    }
    Ok(files)
}

#[expect(clippy::print_stdout, reason = "tells a person what runs now")]
pub fn step(what: &str) {
    println!("\n-- {what}");
}

pub fn succeed(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .current_dir(root())
        .status()
        .with_context(|| format!("{program} could not be started"))?;
    if !status.success() {
        bail!("{program} failed ({status})");
    }
    Ok(())
}
