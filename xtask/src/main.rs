//! Chores of this repository.
//!
//! `cargo xtask codegen` rewrites the files that are generated from the code. `cargo xtask
//! test` is the one test command; `cargo xtask fuzz` is a part of it. `cargo xtask dist` is
//! for those who install without a toolchain. `tidy`, the house rules, is no command: its checks
//! are the tests of this package, and run with all the others.
//!
//! Deliberately absent: anything that a build needs. Nothing here runs when the product is
//! compiled.

use anyhow::{Result, bail};

mod codegen;
mod dist;
mod fuzz;
#[cfg(feature = "grpc")]
mod grpc;
mod ordinary_user;
mod picture;
mod sdk;
#[cfg(any(test, feature = "grpc"))]
mod stamp;
mod test;
#[cfg(test)]
mod tidy;

const USAGE: &str = "\
usage: cargo xtask COMMAND

commands:
  codegen    rewrite the files that are generated from the code; `codegen sdk` only those in sdk/
  dist       make what is installed without a toolchain, in target/dist-packages: an archive, an npm package
             and a wheel, with their checksums: [--program FILE | --profile NAME] [--out FOLDER]
  fuzz       feed readers with hostile bytes: [--seconds N] [TARGET…]
  picture    make docs/screen.svg from the real screen, in tmux; needs `cargo build -p troupe`
  test       install what the tests need, then run all of them
";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["codegen"] => codegen::run(),
        ["codegen", "sdk"] => sdk::generate(&test::root()),
        #[cfg(feature = "grpc")]
        ["codegen", "grpc"] => grpc::generate(),
        ["dist", ref arguments @ ..] => dist::run(arguments),
        ["fuzz", ref arguments @ ..] => fuzz::run(arguments),
        ["picture"] => picture::run(),
        ["test"] => test::run(),
        [] => bail!("a command is missing\n\n{USAGE}"),
        _ => bail!("unknown command: {}\n\n{USAGE}", arguments.join(" ")),
    }
}
