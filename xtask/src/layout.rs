//! `cargo xtask layout`: which functions a run enters, in the order in which it does.
//!
//! A function that a run enters brings the 64 KiB around it into memory, and a program of this
//! size has a few thousand of them spread over all its code. The linker is given this list and
//! lays them side by side, so that a run needs a fifth of the pages.
//!
//! The list names symbols, which change with the compiler, the lock file and the profile, not
//! with the bodies of functions. Names that are not there are passed over: an old list makes a
//! larger process, never a wrong one. `cargo xtask layout --check` tells when it is too old.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::test::root;

#[cfg(feature = "layout")]
mod scenes;
#[cfg(feature = "layout")]
mod trace;

/// Less than this part of the list in the program, and it is to be made again.
const FRESH_PERCENT: usize = 60;

/// Runs the release build, and writes down what it enters.
#[cfg(feature = "layout")]
pub fn write() -> Result<()> {
    let program = build()?;
    let functions = Functions::of(&program)?;
    let mut order = trace::Order::default();
    scenes::play(&program, &functions, &mut order)?;
    let mut text = order.names.join("\n");
    text.push('\n');
    fs::write(list(), text).context("the list could not be written")
}

/// Runs this chore again with what it needs to watch a process.
#[cfg(not(feature = "layout"))]
pub fn write() -> Result<()> {
    let again = ["run", "-q", "-p", "xtask", "--features", "layout"];
    crate::test::succeed(
        Command::new(env!("CARGO"))
            .args(again)
            .args(["--", "layout"]),
    )
}

/// Fails if the list was made for another program than the one that is built now.
pub fn check() -> Result<()> {
    if !is_used() {
        return Ok(());
    }
    let functions = Functions::of(&build()?)?;
    let there: HashSet<&str> = functions.names.values().map(String::as_str).collect();
    let list = fs::read_to_string(list()).context("the list could not be read")?;
    let known = list.lines().filter(|name| there.contains(name)).count();
    let all = list.lines().count();
    ensure!(
        known * 100 >= all * FRESH_PERCENT,
        "{known} of {all} functions of the layout are in the program: run `cargo xtask layout`"
    );
    Ok(())
}

/// Tells whether the linker is given the list here. `crates/cli/build.rs` decides.
fn is_used() -> bool {
    let is_unset = |name| std::env::var_os(name).is_none_or(|value| value.is_empty());
    cfg!(all(
        target_arch = "x86_64",
        target_os = "linux",
        target_env = "gnu"
    )) && is_unset("RUSTFLAGS")
        && is_unset("CARGO_ENCODED_RUSTFLAGS")
}

fn list() -> PathBuf {
    root().join("crates/cli/layout/x86_64-unknown-linux-gnu.txt")
}

fn build() -> Result<PathBuf> {
    crate::test::succeed(Command::new(env!("CARGO")).args(["build", "--release", "--quiet"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join("release/troupe"))
}

/// The functions of a program, by their place in it.
struct Functions {
    names: HashMap<u64, String>,
}

impl Functions {
    fn of(program: &Path) -> Result<Self> {
        let listed = Command::new("nm")
            .args(["--defined-only", "--print-size"])
            .arg(program)
            .output()
            .context("nm of the binutils could not be started")?;
        let listed = String::from_utf8(listed.stdout)?;
        let names: HashMap<u64, String> = listed.lines().filter_map(function).collect();
        ensure!(!names.is_empty(), "{} has no symbols", program.display());
        Ok(Self { names })
    }
}

/// Reads `address size kind name`. What has no size is a label inside a function.
fn function(line: &str) -> Option<(u64, String)> {
    let mut words = line.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let _size = words.next()?;
    let kind = words.next()?;
    let name = words.next()?;
    matches!(kind, "t" | "T").then(|| (address, name.to_owned()))
}
