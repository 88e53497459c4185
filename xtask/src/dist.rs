//! `cargo xtask dist`: what is installed without a toolchain. One program, stripped and laid out,
//! in three wrappings: an archive, an npm package and a Python wheel; and their checksums.
//!
//! Nothing is published here. A wrapping carries the program itself: installing it downloads and
//! compiles nothing.

use anyhow::Result;

#[cfg(feature = "dist")]
mod archive;
#[cfg(feature = "dist")]
mod checksums;
#[cfg(feature = "dist")]
mod layout;
#[cfg(feature = "dist")]
mod npm;
#[cfg(feature = "dist")]
mod program;
#[cfg(feature = "dist")]
mod wheel;

/// What a package manager shows of the packages.
#[cfg(feature = "dist")]
const DESCRIPTION: &str = "A local coding-agent engine in which one agent can run many";

/// The name of the packages; that of the command is `troupe`.
#[cfg(feature = "dist")]
const PACKAGE: &str = "troupe-cli";

#[cfg(feature = "dist")]
#[expect(clippy::print_stdout, reason = "tells a person what was made")]
pub fn run(arguments: &[&str]) -> Result<()> {
    let options = Options::read(arguments)?;
    let staging = options.out.join("staging");
    if staging.exists() {
        std::fs::remove_dir_all(&staging)?;
    }
    std::fs::create_dir_all(&staging)?;
    let built = match options.program {
        Some(program) => program,
        None => program::build(&options.profile, &staging)?,
    };
    let program = program::Program::prepare(&built, &staging)?;
    let made = [
        archive::make(&program, &staging, &options.out)?,
        npm::make(&program, &staging, &options.out)?,
        wheel::make(&program, &options.out)?,
    ];
    let checksums = checksums::write(&made, &options.out)?;
    std::fs::remove_dir_all(&staging)?;
    for file in made.iter().chain([&checksums]) {
        println!("{}", file.display());
    }
    Ok(())
}

/// Runs this chore again with what it needs to pack files.
#[cfg(not(feature = "dist"))]
pub fn run(arguments: &[&str]) -> Result<()> {
    let again = [
        "run",
        "-q",
        "-p",
        "xtask",
        "--features",
        "dist",
        "--",
        "dist",
    ];
    let mut command = std::process::Command::new(env!("CARGO"));
    crate::test::succeed(command.args(again).args(arguments))
}

#[cfg(feature = "dist")]
struct Options {
    /// A program that is built already; else one is built, and its functions are laid out.
    program: Option<std::path::PathBuf>,
    profile: String,
    out: std::path::PathBuf,
}

#[cfg(feature = "dist")]
impl Options {
    fn read(mut arguments: &[&str]) -> Result<Self> {
        let mut options = Self {
            program: None,
            profile: "dist".to_owned(),
            out: crate::test::root().join("target/dist-packages"),
        };
        loop {
            arguments = match arguments {
                [] => return Ok(options),
                ["--program", file, rest @ ..] => {
                    options.program = Some(std::path::absolute(file)?);
                    rest
                }
                ["--profile", name, rest @ ..] => {
                    (*name).clone_into(&mut options.profile);
                    rest
                }
                ["--out", folder, rest @ ..] => {
                    options.out = std::path::absolute(folder)?;
                    rest
                }
                [other, ..] => anyhow::bail!(
                    "dist: {other:?} is unknown or lacks its value; \
                     known are --program FILE, --profile NAME and --out FOLDER"
                ),
            };
        }
    }
}
