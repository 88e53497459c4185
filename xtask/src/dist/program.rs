//! The program that is packed, and what its packages have to say of it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use super::layout;
use crate::test::{root, succeed};

pub struct Program {
    /// A stripped copy.
    pub path: PathBuf,
    pub version: String,
    pub platform: Platform,
    /// The oldest glibc that has every function it calls: `(2, 34)`.
    pub glibc: (u32, u32),
}

/// The same processor in the words of Rust, Node and Python.
pub struct Platform {
    pub target: &'static str,
    pub node_cpu: &'static str,
    pub python: &'static str,
}

const PLATFORMS: [Platform; 2] = [
    Platform {
        target: "x86_64-unknown-linux-gnu",
        node_cpu: "x64",
        python: "x86_64",
    },
    Platform {
        target: "aarch64-unknown-linux-gnu",
        node_cpu: "arm64",
        python: "aarch64",
    },
];

impl Program {
    /// Strips a copy of a program, and asks it and the copy what packages have to say.
    pub fn prepare(built: &Path, staging: &Path) -> Result<Self> {
        let path = staging.join("troupe");
        succeed(
            Command::new("strip")
                .args(["--strip-all", "-o"])
                .args([path.as_path(), built]),
        )
        .with_context(|| format!("{} could not be stripped", built.display()))?;
        let said = output(Command::new(&path).arg("--version"))?;
        let version = said
            .trim()
            .strip_prefix("troupe ")
            .with_context(|| format!("{} is not our program: it says {said:?}", built.display()))?
            .to_owned();
        Ok(Self {
            glibc: glibc_needed(&path)?,
            path,
            version,
            platform: platform()?,
        })
    }
}

/// Builds what is shipped, twice: the functions that the first program enters lie side by side in
/// the second.
pub fn build(profile: &str, staging: &Path) -> Result<PathBuf> {
    let program = cargo_build(profile, None)?;
    if !layout::is_supported() {
        return Ok(program);
    }
    let order = layout::write(&program, staging.join("function-order.txt"))?;
    cargo_build(profile, Some(&order))
}

fn cargo_build(profile: &str, order: Option<&Path>) -> Result<PathBuf> {
    // Symbols say which functions are entered; the copy that is packed has none.
    let symbols = format!("profile.{profile}.strip=\"debuginfo\"");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["build", "--locked", "-p", "troupe", "--profile", profile])
        .args(["--config", &symbols])
        .env_remove("TROUPE_FUNCTION_ORDER");
    if let Some(order) = order {
        cargo.env("TROUPE_FUNCTION_ORDER", order);
    }
    succeed(&mut cargo)?;
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| root().join("target"), PathBuf::from);
    Ok(target.join(profile).join("troupe"))
}

fn platform() -> Result<Platform> {
    let here = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let known = PLATFORMS.into_iter().find(|it| it.target == here);
    known.with_context(|| format!("packages are not made for {here}"))
}

/// Reads from the dynamic symbols which versions of the C library they are bound to.
fn glibc_needed(program: &Path) -> Result<(u32, u32)> {
    let symbols = output(Command::new("objdump").arg("--dynamic-syms").arg(program))?;
    let versions = symbols.split("GLIBC_").skip(1).filter_map(version);
    let newest = versions.max();
    newest.with_context(|| format!("{} calls no glibc", program.display()))
}

fn version(text: &str) -> Option<(u32, u32)> {
    let text = text.split([')', ' ', '\n']).next()?;
    let mut numbers = text.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// Runs a program, and returns what it prints.
pub fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command
        .output()
        .with_context(|| format!("{name} could not be started"))?;
    if !done.status.success() {
        bail!("{name} failed: {}", String::from_utf8_lossy(&done.stderr));
    }
    ensure!(!done.stdout.is_empty(), "{name} printed nothing");
    Ok(String::from_utf8(done.stdout)?)
}
