//! The order of functions in the program that is shipped: those that a run enters, in the order in
//! which it does.
//!
//! A function that a run enters brings the 64 KiB around it into memory, and a program of this
//! size has a few thousand of them spread over all its code. The linker is given this list and
//! lays them side by side, so that a run needs a fifth of the pages.
//!
//! The list names symbols, which change with the compiler, the lock file and the profile. So it is
//! made anew for each program that is shipped, from that program, and kept nowhere.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

mod scenes;
mod trace;

/// Runs a program that has its symbols, and writes the functions that it enters into a file.
pub fn write(program: &Path, file: PathBuf) -> Result<PathBuf> {
    let functions = Functions::of(program)?;
    let mut order = trace::Order::default();
    scenes::play(program, &functions, &mut order)?;
    ensure!(
        !order.names.is_empty(),
        "no function of {} was entered",
        program.display()
    );
    let mut text = order.names.join("\n");
    text.push('\n');
    std::fs::write(&file, text).context("the order of functions could not be written")?;
    Ok(file)
}

/// Tells whether the linker here takes such a list. `crates/cli/build.rs` asks the same.
pub fn is_supported() -> bool {
    let is_unset = |name| std::env::var_os(name).is_none_or(|value| value.is_empty());
    cfg!(all(
        target_arch = "x86_64",
        target_os = "linux",
        target_env = "gnu"
    )) && is_unset("RUSTFLAGS")
        && is_unset("CARGO_ENCODED_RUSTFLAGS")
}

/// The functions of a program, by their addresses.
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
