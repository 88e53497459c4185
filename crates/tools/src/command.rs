//! Commands, for every tool that runs them: decide, ask, start, watch, and once more without
//! the sandbox if a person says so.
//!
//! ```text
//! Request ─► gate ─► (ask) ─► start ─► Terminal ─► watch ─► Run
//!              │ environment, in parallel   ▲         │
//!              └ refuse                     └─ (ask) ◄┘ stopped by the sandbox
//! ```

mod capture;
pub(crate) mod contained;
mod finish;
mod gate;
mod item;
mod pending;
pub(crate) mod scripts;
mod table;
mod terminal;
mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_process::{
    CommandSpec, Confinement, Launcher, Process, SpawnError, StdinMode, TerminalSize,
};
use troupe_protocol::command::CommandSource;

use crate::approval::SessionApprovals;
use crate::blocking::NEVER_RUN_TEXT;
use crate::call::ToolInvocation;
use crate::environment::{Variables, sandbox_variables};
use crate::limits::COMMAND_BYTES_MAX;
use crate::login::LoginEnvironment;
use crate::policy::{SandboxChoice, SandboxEscalation};
use crate::rules::RuleBook;
use crate::tool::ToolOutput;
use crate::undo::UndoRecorder;

use gate::{CommandGate, CommandRefusal};

pub(crate) use capture::OutputCapture;
pub(crate) use item::CommandItem;
pub(crate) use table::{BackgroundTerminals, EvictedTerminal, TerminalId};
pub(crate) use terminal::{CommandTerminal, TerminalKind, WatchOutcome};
pub(crate) use text::{BackgroundReport, BackgroundStatus, exit_code};

/// Runs the session's commands.
#[derive(Debug)]
pub(crate) struct CommandRunner {
    launcher: Launcher,
    shell: PathBuf,
    environment: Arc<LoginEnvironment>,
    gate: CommandGate,
    keeper: Option<Arc<UndoRecorder>>,
}

/// One command as the model asked for it.
#[derive(Debug)]
pub(crate) struct RequestedCommand {
    pub script: String,
    pub workdir: Option<String>,
    pub kind: TerminalKind,
    pub permissions: Option<SandboxPermissions>,
    pub justification: Option<String>,
    pub source: CommandSource,
}

/// One command as it would be run.
#[derive(Debug, Clone)]
pub(crate) struct PreparedCommand {
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    pub kind: TerminalKind,
    pub escalation: SandboxEscalation,
    pub source: CommandSource,
}

/// A command that was started and watched for a while.
#[derive(Debug)]
pub(crate) struct CommandRun {
    pub terminal: CommandTerminal,
    pub capture: OutputCapture,
    pub ending: WatchOutcome,
    pub item: CommandItem,
    pub began: Instant,
}

/// Whether a command asks to run outside of the sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SandboxPermissions {
    #[default]
    UseDefault,
    RequireEscalated,
}

impl CommandRunner {
    pub(crate) fn new(
        launcher: Launcher,
        shell: PathBuf,
        environment: Arc<LoginEnvironment>,
        agreements: Arc<SessionApprovals>,
        rules: RuleBook,
        keeper: Option<Arc<UndoRecorder>>,
    ) -> Self {
        Self {
            gate: CommandGate::new(agreements, rules, launcher.clone()),
            launcher,
            shell,
            environment,
            keeper,
        }
    }

    /// Makes a request of what the model wrote; `Err` says what is wrong with it.
    pub(crate) fn request(
        &self,
        call: &ToolInvocation,
        wish: RequestedCommand,
    ) -> Result<PreparedCommand, String> {
        let script = wish.script;
        check_script(&script)?;
        let cwd = call.context.resolve(wish.workdir.as_deref().unwrap_or("."));
        check_directory(&cwd)?;
        let shell = self.shell.to_string_lossy().into_owned();
        Ok(PreparedCommand {
            argv: vec![shell, "-c".to_owned(), script],
            cwd,
            kind: wish.kind,
            escalation: match wish.permissions.unwrap_or_default() {
                SandboxPermissions::UseDefault => SandboxEscalation::None,
                SandboxPermissions::RequireEscalated => SandboxEscalation::Wanted {
                    justification: wish.justification,
                },
            },
            source: wish.source,
        })
    }

    /// Runs the request until it ends, `patience` is over, or the call is cancelled. `Err` is
    /// the answer to a call whose command was never started.
    pub(crate) async fn run(
        &self,
        call: &ToolInvocation,
        request: PreparedCommand,
        patience: Duration,
    ) -> Result<CommandRun, ToolOutput> {
        let prepared = tokio::select! {
            prepared = self.prepare(call, &request) => prepared,
            () = call.cancel.cancelled() => Err(CommandRefusal::Cancelled),
        };
        let item = CommandItem::new(call, &request);
        let (mut sandbox, variables) = match prepared {
            Ok(prepared) => prepared,
            // Nobody said no to it and it never began: there is nothing to show.
            Err(CommandRefusal::Cancelled) => {
                return Err(ToolOutput::failure(NEVER_RUN_TEXT.to_owned()));
            }
            Err(CommandRefusal::Policy(text)) => return Err(item.declined(call, text).await),
            Err(CommandRefusal::Denied) => {
                return Err(item.declined(call, gate::denied_text()).await);
            }
        };
        item.started(call).await;
        loop {
            if let Some(keeper) = &self.keeper {
                keeper.before_command(call, &request.argv, sandbox).await;
            }
            let began = Instant::now();
            let process = match self.spawn(call, &request, sandbox, &variables).await {
                Ok(process) => process,
                Err(SpawnError::Refused { why, .. })
                    if sandbox == SandboxChoice::Confined
                        && self.gate.may_leave_sandbox(call, &request, &why).await =>
                {
                    sandbox = SandboxChoice::Unconfined;
                    continue;
                }
                Err(error) => {
                    let text = format!("the command was not started: {error}");
                    return Err(item.not_started(call, text).await);
                }
            };
            let run = watched(call, &request, sandbox, process, began + patience).await;
            if sandbox == SandboxChoice::Confined
                && let WatchOutcome::Exited(exit) = &run.ending
                // What went well without it did not need it.
                && !exit.is_success()
                && let Some(denial) = &exit.denial
                && self.gate.may_leave_sandbox(call, &request, &denial.what).await
            {
                sandbox = SandboxChoice::Unconfined;
                continue;
            }
            return Ok(run.shown_as(item, began));
        }
    }

    /// Runs a command of the user's own: nobody is asked, and nothing confines it.
    pub(crate) async fn run_as_user(
        &self,
        call: &ToolInvocation,
        request: PreparedCommand,
        patience: Duration,
    ) -> Result<CommandRun, ToolOutput> {
        let item = CommandItem::new(call, &request);
        item.started(call).await;
        let began = Instant::now();
        let variables = tokio::select! {
            variables = self.environment.own_variables(&request.cwd, call.channel.as_ref()) => variables,
            () = call.cancel.cancelled() => {
                return Err(item.not_started(call, NEVER_RUN_TEXT.to_owned()).await);
            }
        };
        match self
            .spawn(call, &request, SandboxChoice::Unconfined, &variables)
            .await
        {
            Ok(process) => {
                let run = watched(
                    call,
                    &request,
                    SandboxChoice::Unconfined,
                    process,
                    began + patience,
                )
                .await;
                Ok(run.shown_as(item, began))
            }
            Err(error) => {
                let text = format!("the command was not started: {error}");
                Err(item.not_started(call, text).await)
            }
        }
    }

    /// Decides, and gathers the variables meanwhile: the first command captures the login
    /// environment, and a person who was asked does not wait for it afterwards.
    async fn prepare(
        &self,
        call: &ToolInvocation,
        request: &PreparedCommand,
    ) -> Result<(SandboxChoice, Arc<Variables>), CommandRefusal> {
        let (decision, variables) = tokio::join!(
            self.gate.decide(call, request),
            self.environment
                .variables(&call.context.cwd, call.channel.as_ref())
        );
        Ok((decision?, variables))
    }

    async fn spawn(
        &self,
        call: &ToolInvocation,
        request: &PreparedCommand,
        sandbox: SandboxChoice,
        variables: &Variables,
    ) -> Result<Process, SpawnError> {
        let context = &call.context;
        let confinement = match sandbox {
            SandboxChoice::Unconfined => Confinement::Unconfined,
            SandboxChoice::Confined => Confinement::Policy {
                policy: context.sandbox_policy.clone(),
                cwd: context.cwd.clone(),
            },
        };
        let mut env = variables.clone();
        env.insert("PWD".to_owned(), request.cwd.to_string_lossy().into_owned());
        env.extend(match &confinement {
            Confinement::Unconfined => sandbox_variables(None),
            Confinement::Policy { policy, .. } => sandbox_variables(Some(policy)),
        });
        let spec = CommandSpec {
            argv: request.argv.clone(),
            cwd: request.cwd.clone(),
            env,
            confinement,
            terminal: match request.kind {
                TerminalKind::Tty => Some(TerminalSize::default()),
                TerminalKind::Pipes => None,
            },
            // A program that finds a pipe there may wait for input that nobody will give.
            stdin: StdinMode::Null,
        };
        self.launcher.spawn(spec).await
    }
}

/// A command that was watched, and is not shown yet.
struct WatchedCommand {
    terminal: CommandTerminal,
    capture: OutputCapture,
    ending: WatchOutcome,
}

impl WatchedCommand {
    fn shown_as(self, item: CommandItem, began: Instant) -> CommandRun {
        let Self {
            terminal,
            capture,
            ending,
        } = self;
        CommandRun {
            terminal,
            capture,
            ending,
            item,
            began,
        }
    }
}

async fn watched(
    call: &ToolInvocation,
    request: &PreparedCommand,
    sandbox: SandboxChoice,
    process: Process,
    until: Instant,
) -> WatchedCommand {
    let terminal = CommandTerminal::new(
        process,
        request.argv.clone(),
        request.cwd.clone(),
        request.kind,
        call.context.sandbox_policy.clone(),
        sandbox,
    );
    let mut capture = OutputCapture::new();
    let ending = terminal.watch(call, until, &mut capture).await;
    WatchedCommand {
        terminal,
        capture,
        ending,
    }
}

/// Tells what is wrong with a command before it is tried.
pub fn check_script(script: &str) -> Result<(), String> {
    if script.trim().is_empty() {
        return Err("the command is empty".to_owned());
    }
    if script.contains('\0') {
        return Err("the command contains a NUL character".to_owned());
    }
    if script.len() > COMMAND_BYTES_MAX {
        return Err(format!(
            "the command has {} bytes, at most {COMMAND_BYTES_MAX} are taken: write it to a file \
             and run that",
            script.len()
        ));
    }
    Ok(())
}

fn check_directory(cwd: &Path) -> Result<(), String> {
    let problem = match std::fs::metadata(cwd) {
        Ok(metadata) if metadata.is_dir() => return Ok(()),
        Ok(_) => "it is not a directory".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(format!(
        "cannot run in workdir {}: {problem}",
        cwd.display()
    ))
}
