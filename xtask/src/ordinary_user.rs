//! What depends on who runs it, once more as an ordinary user, if root runs the tests.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::test::{root, step, succeed};

/// The crates that know the kernel, the file system and the user's home.
const CRATES: [&str; 3] = ["process", "tools", "cli"];

pub fn run() -> Result<()> {
    if !is_root() {
        step("as an ordinary user: not again, this is one");
        return Ok(());
    }
    if let Some(why) = obstacle() {
        step(&format!("as an ordinary user: not run, {why}"));
        return Ok(());
    }
    step("the sandbox, the tools and the binary, as an ordinary user");
    let mut command = Command::new(root().join("tests/ordinary_user.sh"));
    command.arg(root());
    for (directory, program) in programs()? {
        command.arg(directory).arg(program);
    }
    succeed(&mut command)
}

/// A process belongs to whoever runs it, and so does its directory in `/proc`.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

/// Containers often lack what it takes.
fn obstacle() -> Option<&'static str> {
    let works = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !works("setpriv", &["--version"]) {
        Some("there is no setpriv")
    } else if !works("unshare", &["--mount", "mount", "--make-rprivate", "/"]) {
        Some("nothing can be mounted here")
    } else {
        None
    }
}

/// Returns each test program with the directory of its crate. They are built by now, and with the
/// same packages in view they stay as they are.
fn programs() -> Result<Vec<(PathBuf, PathBuf)>> {
    let output = Command::new(env!("CARGO"))
        .args(["test", "--workspace", "--no-run", "--quiet"])
        .arg("--message-format=json")
        .current_dir(root())
        .output()
        .context("cargo could not be started")?;
    let messages = String::from_utf8_lossy(&output.stdout);
    let messages = messages.lines();
    let messages = messages.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(messages.filter_map(|message| program(&message)).collect())
}

fn program(message: &Value) -> Option<(PathBuf, PathBuf)> {
    let executable = message["executable"].as_str()?;
    let is_test = message["profile"]["test"] == Value::Bool(true);
    let manifest = PathBuf::from(message["manifest_path"].as_str()?);
    let directory = manifest.parent()?.to_owned();
    let name = directory.file_name()?.to_str()?;
    let is_wanted = is_test && CRATES.contains(&name);
    is_wanted.then(|| (directory, PathBuf::from(executable)))
}
