//! `cargo xtask fuzz [--seconds N] [TARGET…]`: hostile bytes for everything that reads what
//! others wrote, on any toolchain.
//!
//! Every target is a process of its own, and all run side by side: a minute for each is a
//! minute for all. What they do is in `crates/testkit/src/fuzz.rs`.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::test::{root, step, succeed};

/// For a run by hand; `cargo xtask test` says its own.
const SECONDS_DEFAULT: u64 = 60;

pub fn run(arguments: &[&str]) -> Result<()> {
    let (seconds, targets) = match arguments {
        ["--seconds", seconds, targets @ ..] => {
            let seconds = seconds.parse();
            (seconds.context("--seconds takes a number")?, targets)
        }
        targets => (SECONDS_DEFAULT, targets),
    };
    if let Some(option) = targets.iter().find(|word| word.starts_with('-')) {
        bail!("unknown option: {option}");
    }
    let names: Vec<String> = targets.iter().map(|&name| name.to_owned()).collect();
    fuzz(seconds, names)
}

/// Fuzzes these targets, or all if none is named.
pub fn fuzz(seconds: u64, names: Vec<String>) -> Result<()> {
    step("fuzzing");
    succeed(Command::new(env!("CARGO")).args([
        "build",
        "--quiet",
        "--package",
        "troupe-testkit",
        "--example",
        "fuzz",
    ]))?;
    let program = root().join("target/debug/examples/fuzz");
    let names = if names.is_empty() {
        all(&program)?
    } else {
        names
    };
    let running = names
        .into_iter()
        .map(|name| Ok((start(&program, &name, seconds)?, name)))
        .collect::<Result<Vec<(Child, String)>>>()?;
    let mut failed = Vec::new();
    for (mut child, name) in running {
        if !child.wait()?.success() {
            failed.push(name);
        }
    }
    ensure!(
        failed.is_empty(),
        "failed: {}; the inputs are in target/fuzz/, and a mended one belongs into fuzz/corpus/",
        failed.join(", ")
    );
    Ok(())
}

fn all(program: &Path) -> Result<Vec<String>> {
    let listed = Command::new(program).output()?;
    let listed = String::from_utf8(listed.stdout)?;
    Ok(listed.lines().map(str::to_owned).collect())
}

fn start(program: &Path, target: &str, seconds: u64) -> Result<Child> {
    Command::new(program)
        .args([target, &seconds.to_string()])
        .current_dir(root())
        .stdin(Stdio::null())
        .spawn()
        .with_context(|| format!("{} could not be started", program.display()))
}
