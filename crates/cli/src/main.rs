//! `troupe`: reads arguments, environment and home, and wires everything else together.
//!
//! `arguments` is the command line; each command is one file in `commands/`. `layers` and
//! `settings` turn configuration files into typed settings, `wiring` turns those into what
//! a session runs on. `exec` drives one headless run.
//!
//! Deliberately absent: rules worth a test without a command line. They live in the crates
//! below. Nothing is loaded before it is needed: no runtime for `--version`, no index for a
//! new session, no schema without a configuration file.

mod arguments;
mod attach;
mod commands;
mod completing;
mod config_file;
mod control;
mod diagnostics;
mod exec;
mod failure;
mod git;
mod home;
mod keys;
mod layers;
mod limits;
mod provider;
mod screen;
mod settings;
mod style;
mod terminal;
mod trust;
mod unknown_command;
mod unknown_types;
mod wiring;

use std::env;
use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Cli;
use crate::failure::{CommandExit, Outcome};

fn main() -> ExitCode {
    outlive_file_size_limits();
    completing::answer_shell();
    let outcome = if asks_for_version_alone() {
        version()
    } else {
        match Cli::try_parse() {
            Ok(cli) => diagnostics::begin_by_environment().and_then(|()| commands::run(cli)),
            Err(error) => unknown_command::screen_or_explain(error),
        }
    };
    match outcome {
        Ok(exit) => exit.into(),
        // Whoever stopped reading does not want to read about it.
        Err(failure) if failure.is_broken_pipe() => failure.exit().into(),
        Err(failure) => {
            commands::tell(&format!("troupe: {failure}"));
            failure.exit().into()
        }
    }
}

/// Makes a write beyond `ulimit -f` an error like that of a full disk, where the signal would
/// end the engine and everything that it had in hand. Commands get the default back.
fn outlive_file_size_limits() {
    // SAFETY: no handler of ours runs; the write then fails with EFBIG. The call cannot fail for
    // a signal that exists and may be ignored.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Scripts ask for it again and again. Without this, most of the answer's time would go into the
/// options of every command.
fn asks_for_version_alone() -> bool {
    let mut arguments = env::args_os().skip(1);
    let first = arguments.next();
    first.is_some_and(|it| it == "--version" || it == "-V") && arguments.next().is_none()
}

fn version() -> Outcome {
    commands::print(concat!("troupe ", env!("CARGO_PKG_VERSION"), "\n"))?;
    Ok(CommandExit::Success)
}
