//! The commands, one file each, and what all of them share.

pub mod acp;
pub mod agents;
pub mod app_server;
pub mod apply_patch;
pub mod compact;
pub mod completion;
pub mod config;
pub mod demo;
pub mod doctor;
mod door;
pub mod exec;
pub mod import;
pub mod init;
pub mod login;
pub mod mcp;
pub mod mcp_server;
pub mod mock_model;
pub mod models;
mod one_op;
pub mod proto;
pub mod review;
pub mod roles;
pub mod rollback;
pub mod rules;
pub mod sessions;
pub mod skills;
pub mod trust;
pub mod undo;

use std::io::{self, IsTerminal, Write};

use clap::CommandFactory;

use crate::arguments::{Cli, Command, Layers, Overrides};
use crate::failure::{Exit, Failure, Outcome};
use crate::home::{Home, here};
use crate::layers::ConfigSource;
use crate::terminal;

/// Runs what the command line asks for.
pub fn run(cli: Cli) -> Outcome {
    let Cli {
        overrides,
        layers,
        command,
    } = cli;
    if command.as_ref().is_none_or(needs_no_configuration) {
        overrides.check_keys()?;
        if layers.strict_config {
            check_configuration(&overrides, &layers)?;
        }
    }
    match command {
        None => short_help(),
        Some(Command::Exec(arguments)) => exec::run(*arguments, overrides, layers),
        Some(Command::Resume(command)) => exec::run(command.into_exec(), overrides, layers),
        Some(Command::Fork(command)) => exec::run(command.into_exec(), overrides, layers),
        Some(Command::Review(command)) => exec::run(command.into_exec(), overrides, layers),
        Some(Command::Proto(arguments)) => proto::run(arguments, overrides, layers),
        Some(Command::AppServer(arguments)) => app_server::run(arguments, overrides, layers),
        Some(Command::McpServer(arguments)) => mcp_server::run(*arguments, overrides, layers),
        Some(Command::Acp(arguments)) => acp::run(arguments, overrides, layers),
        Some(Command::Sessions(arguments)) => sessions::run(arguments, overrides, layers),
        Some(Command::Import(arguments)) => import::run(arguments, overrides, layers),
        Some(Command::Init(command)) => init::run(*command, overrides, layers),
        Some(Command::Login(arguments)) => login::login(arguments, overrides, layers),
        Some(Command::Logout(arguments)) => login::logout(&arguments),
        Some(Command::Undo(arguments)) => undo::run(arguments, overrides, layers),
        Some(Command::Rollback(arguments)) => rollback::run(arguments, overrides, layers),
        Some(Command::Compact(arguments)) => compact::run(arguments, overrides, layers),
        Some(Command::Agents(arguments)) => agents::run(arguments, overrides, layers),
        Some(Command::Roles(arguments)) => roles::run(arguments, overrides, layers),
        Some(Command::Skills(arguments)) => skills::run(arguments, overrides, layers),
        Some(Command::Reindex) => sessions::reindex(),
        Some(Command::Demo(arguments)) => demo::run(arguments),
        Some(Command::Models(arguments)) => models::run(arguments, overrides, layers),
        Some(Command::Doctor(arguments)) => doctor::run(arguments, overrides, layers),
        Some(Command::Config(arguments)) => config::run(arguments, overrides, layers),
        Some(Command::Rules(arguments)) => rules::run(arguments, overrides, layers),
        Some(Command::Trust(arguments)) => trust::run(arguments),
        Some(Command::Mcp(arguments)) => mcp::run(arguments, overrides, layers),
        Some(Command::ApplyPatch(arguments)) => apply_patch::run(arguments),
        Some(Command::MockModel(arguments)) => mock_model::run(arguments),
        Some(Command::Bench(arguments)) => crate::bench::run(arguments),
        Some(Command::Completion(arguments)) => completion::run(&arguments),
    }
}

/// Tells whether a command would not look at the configuration by itself.
fn needs_no_configuration(command: &Command) -> bool {
    match command {
        Command::Exec(_)
        | Command::Resume(_)
        | Command::Fork(_)
        | Command::Review(_)
        | Command::Proto(_)
        | Command::AppServer(_)
        | Command::McpServer(_)
        | Command::Acp(_)
        | Command::Import(_)
        | Command::Init(_)
        | Command::Login(_)
        | Command::Undo(_)
        | Command::Rollback(_)
        | Command::Compact(_)
        | Command::Agents(_)
        | Command::Models(_)
        | Command::Doctor(_)
        | Command::Config(_)
        | Command::Skills(_)
        | Command::Rules(_)
        | Command::Mcp(_) => false,
        Command::Sessions(_)
        | Command::Roles(_)
        | Command::Reindex
        | Command::Logout(_)
        | Command::Trust(_)
        | Command::Demo(_)
        | Command::ApplyPatch(_)
        | Command::MockModel(_)
        | Command::Bench(_)
        | Command::Completion(_) => true,
    }
}

/// `--strict-config` holds for every command.
fn check_configuration(overrides: &Overrides, layers: &Layers) -> Result<(), Failure> {
    let source = ConfigSource {
        home: Home::find()?,
        overrides: overrides.clone(),
        layers: layers.clone(),
        flags: Vec::new(),
    };
    let cwd = here()?;
    source.load(&cwd).map(drop)
}

fn short_help() -> Outcome {
    print(&Cli::command().render_help().to_string())?;
    Ok(Exit::Success)
}

/// Writes to standard output: to a file or a program as it is, to a terminal without what would
/// act on it.
pub fn print(text: &str) -> io::Result<()> {
    if io::stdout().is_terminal() {
        print_raw(&terminal::styled(text))
    } else {
        print_raw(text)
    }
}

/// Writes to standard output as it is. `println!` would panic when the reader goes away.
pub fn print_raw(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Writes a line to standard error.
pub fn tell(text: &str) {
    // There is no better place to report that standard error is gone.
    let _ = writeln!(io::stderr().lock(), "{}", terminal::styled(text));
}

/// Runs a future on this thread. The engine's work is small beside what the model and the
/// commands take, and one thread wakes nobody for a piece of text.
pub fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::not_started)?;
    let outcome = runtime.block_on(future);
    // A thread may still wait for a line on standard input; it must not hold up the end.
    runtime.shutdown_background();
    outcome
}
