//! The commands, one file each, and what all of them share.

pub mod acp;
pub mod agents;
pub mod app_server;
pub mod apply_patch;
pub mod attach;
pub mod compact;
pub mod completion;
pub mod config;
pub mod demo;
pub mod doctor;
pub mod engine;
pub mod exec;
pub mod import;
pub mod init;
pub mod listen_arguments;
pub mod login;
pub mod mcp;
pub mod mcp_server;
pub mod mock_model;
pub mod models;
pub mod proto;
pub mod review;
pub mod roles;
pub mod rollback;
pub mod rules;
pub mod serve;
pub mod sessions;
pub mod skills;
pub mod stored_session_op;
pub mod trust;
pub mod undo;

use std::io::{self, IsTerminal, Write};

use clap::CommandFactory;

use crate::arguments::{Cli, CliCommand, ConfigOverrides, LayerSelection, ScreenCli};
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::home::{TroupeHome, here};
use crate::layers::ConfigSource;
use crate::screen::is_at_terminal;
use crate::terminal;

/// Runs what the command line asks for.
pub fn run(cli: Cli) -> Outcome {
    let Cli {
        overrides,
        layers,
        command,
    } = cli;
    overrides.check_keys()?;
    if layers.strict_config && command.as_ref().is_none_or(needs_no_configuration) {
        check_configuration(&overrides, &layers)?;
    }
    match command {
        None if is_at_terminal() => exec::open_new(ScreenCli::default(), overrides, layers),
        None => short_help(),
        Some(CliCommand::Exec(arguments)) => exec::run(*arguments, overrides, layers),
        Some(CliCommand::Resume(command)) => exec::open(command.into_exec(), overrides, layers),
        Some(CliCommand::Fork(command)) => exec::open(command.into_exec(), overrides, layers),
        Some(CliCommand::Attach(arguments)) => attach::run(arguments, overrides, layers),
        Some(CliCommand::Engine) => engine::run(),
        Some(CliCommand::Review(command)) => exec::run(command.into_exec(), overrides, layers),
        Some(CliCommand::Proto(arguments)) => proto::run(arguments, overrides, layers),
        Some(CliCommand::AppServer(arguments)) => app_server::run(arguments, overrides, layers),
        Some(CliCommand::Serve(arguments)) => serve::run(*arguments, overrides, layers),
        Some(CliCommand::McpServer(arguments)) => mcp_server::run(*arguments, overrides, layers),
        Some(CliCommand::Acp(arguments)) => acp::run(arguments, overrides, layers),
        Some(CliCommand::Sessions(arguments)) => sessions::run(arguments, overrides, layers),
        Some(CliCommand::Import(arguments)) => import::run(arguments, overrides, layers),
        Some(CliCommand::Init(command)) => init::run(*command, overrides, layers),
        Some(CliCommand::Login(arguments)) => login::login(arguments, overrides, layers),
        Some(CliCommand::Logout(arguments)) => login::logout(&arguments),
        Some(CliCommand::Undo(arguments)) => undo::run(arguments, overrides, layers),
        Some(CliCommand::Rollback(arguments)) => rollback::run(arguments, overrides, layers),
        Some(CliCommand::Compact(arguments)) => compact::run(arguments, overrides, layers),
        Some(CliCommand::Agents(arguments)) => agents::run(arguments, overrides, layers),
        Some(CliCommand::Roles(arguments)) => roles::run(arguments, overrides, layers),
        Some(CliCommand::Skills(arguments)) => skills::run(arguments, overrides, layers),
        Some(CliCommand::Reindex) => sessions::reindex(),
        Some(CliCommand::Demo(arguments)) => demo::run(arguments),
        Some(CliCommand::Models(arguments)) => models::run(arguments, overrides, layers),
        Some(CliCommand::Doctor(arguments)) => doctor::run(arguments, overrides, layers),
        Some(CliCommand::Config(arguments)) => config::run(arguments, overrides, layers),
        Some(CliCommand::Rules(arguments)) => rules::run(arguments, overrides, layers),
        Some(CliCommand::Trust(arguments)) => trust::run(arguments),
        Some(CliCommand::Mcp(arguments)) => mcp::run(arguments, overrides, layers),
        Some(CliCommand::ApplyPatch(arguments)) => apply_patch::run(arguments),
        Some(CliCommand::MockModel(arguments)) => mock_model::run(arguments),
        Some(CliCommand::Completion(arguments)) => completion::run(&arguments),
    }
}

/// Tells whether a command would not look at the configuration by itself.
fn needs_no_configuration(command: &CliCommand) -> bool {
    match command {
        CliCommand::Exec(_)
        | CliCommand::Attach(_)
        | CliCommand::Resume(_)
        | CliCommand::Fork(_)
        | CliCommand::Review(_)
        | CliCommand::Proto(_)
        | CliCommand::AppServer(_)
        | CliCommand::McpServer(_)
        | CliCommand::Serve(_)
        | CliCommand::Acp(_)
        | CliCommand::Import(_)
        | CliCommand::Init(_)
        | CliCommand::Login(_)
        | CliCommand::Undo(_)
        | CliCommand::Rollback(_)
        | CliCommand::Compact(_)
        | CliCommand::Agents(_)
        | CliCommand::Models(_)
        | CliCommand::Doctor(_)
        | CliCommand::Config(_)
        | CliCommand::Skills(_)
        | CliCommand::Rules(_)
        | CliCommand::Mcp(_) => false,
        CliCommand::Sessions(_)
        | CliCommand::Roles(_)
        | CliCommand::Reindex
        | CliCommand::Engine
        | CliCommand::Logout(_)
        | CliCommand::Trust(_)
        | CliCommand::Demo(_)
        | CliCommand::ApplyPatch(_)
        | CliCommand::MockModel(_)
        | CliCommand::Completion(_) => true,
    }
}

/// `--strict-config` holds for every command.
fn check_configuration(
    overrides: &ConfigOverrides,
    layers: &LayerSelection,
) -> Result<(), CommandFailure> {
    let source = ConfigSource {
        home: TroupeHome::find()?,
        overrides: overrides.clone(),
        layers: layers.clone(),
        flags: Vec::new(),
    };
    let cwd = here()?;
    source.load(&cwd).map(drop)
}

fn short_help() -> Outcome {
    print(&Cli::command().render_help().to_string())?;
    Ok(CommandExit::Success)
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
pub fn block_on<T>(
    future: impl Future<Output = Result<T, CommandFailure>>,
) -> Result<T, CommandFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CommandFailure::not_started)?;
    let outcome = runtime.block_on(future);
    // A thread may still wait for a line on standard input; it must not hold up the end.
    runtime.shutdown_background();
    outcome
}
