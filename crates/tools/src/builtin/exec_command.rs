//! `exec_command`: a script that may go on after its call was answered.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use troupe_protocol::command::CommandSource;
use troupe_protocol::tool::ToolSpec;

use crate::arguments;
use crate::call::{ToolEvent, ToolInvocation};
use crate::command::{
    BackgroundReport, BackgroundStatus, BackgroundTerminals, CommandRun, CommandRunner,
    CommandTerminal, EvictedTerminal, RequestedCommand, SandboxPermissions, TerminalId,
    TerminalKind, WatchOutcome,
};
use crate::edit::PatchEditor;
use crate::item;
use crate::limits::{ANSWER_TOKENS_MAX, START_YIELD_DEFAULT_MS, YIELD_MAX_MS, YIELD_MIN_MS};
use crate::policy::WatchStart;
use crate::shell_patch;
use crate::tool::{Tool, ToolConcurrency, ToolOutput};

const NAME: &str = "exec_command";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExecCommandArguments {
    /// The script.
    cmd: String,
    /// Where to run it; the working directory if absent.
    workdir: Option<String>,
    /// Gives it a terminal, so that it can be typed to. Default false.
    tty: Option<bool>,
    /// How many milliseconds to wait for its end or its output. Default 10000, between 250 and
    /// 30000.
    yield_time_ms: Option<u64>,
    /// How much output to return; the middle of more is cut. Default and limit 10000.
    max_output_tokens: Option<usize>,
    /// `require_escalated` asks the user to run it outside of the sandbox.
    sandbox_permissions: Option<SandboxPermissions>,
    /// With `require_escalated`: why, as a short question to the user.
    justification: Option<String>,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<ExecCommandArguments>(
        NAME,
        "Starts a shell script and returns its output so far, with its exit code or with a \
         session ID if it goes on. Look again, or type into it, with write_stdin.",
    )
});

#[derive(Debug)]
pub(crate) struct ExecCommand {
    commands: Arc<CommandRunner>,
    terminals: Arc<BackgroundTerminals>,
    editor: Arc<PatchEditor>,
}

impl ExecCommand {
    pub(crate) fn new(
        commands: Arc<CommandRunner>,
        terminals: Arc<BackgroundTerminals>,
        editor: Arc<PatchEditor>,
    ) -> Self {
        Self {
            commands,
            terminals,
            editor,
        }
    }

    /// Answers with what was seen; a command that goes on is taken into the table.
    async fn answer(
        &self,
        call: &ToolInvocation,
        mut run: CommandRun,
        tokens_max: usize,
    ) -> ToolOutput {
        let elapsed = run.began.elapsed();
        let standing = match &run.ending {
            WatchOutcome::Exited(exit) => BackgroundStatus::Exited(exit),
            WatchOutcome::Cancelled => {
                run.terminal.kill(call, &mut run.capture).await;
                BackgroundStatus::Aborted
            }
            WatchOutcome::Running => {
                let id = self.keep(call, run.terminal).await;
                run.item.goes_on_as(id);
                BackgroundStatus::Running(id)
            }
        };
        let look = BackgroundReport {
            number: self.terminals.next_look(),
            elapsed,
            standing,
            capture: &run.capture,
            tokens_max,
            watched: WatchStart::FromTheStart,
        };
        let text = look.render(call.context.leaving_policy());
        run.item.completed(call, look.outcome(), text).await
    }

    async fn keep(&self, call: &ToolInvocation, terminal: CommandTerminal) -> TerminalId {
        let (id, evicted) = self.terminals.insert(Arc::new(terminal));
        if let Some(EvictedTerminal { id, terminal }) = evicted {
            let text = format!(
                "too many commands run in the background: ended session {id} ({})",
                terminal.argv.last().map_or("", String::as_str)
            );
            call.channel.report(ToolEvent::Warning(text)).await;
            terminal.end().await;
        }
        id
    }
}

#[async_trait]
impl Tool for ExecCommand {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let arguments: ExecCommandArguments = match arguments::parse(&call, &SPEC).await {
            Ok(arguments) => arguments,
            Err(output) => return output,
        };
        let yield_ms = arguments.yield_time_ms.unwrap_or(START_YIELD_DEFAULT_MS);
        let patience = Duration::from_millis(yield_ms.clamp(YIELD_MIN_MS, YIELD_MAX_MS));
        let tokens_max = arguments.max_output_tokens.unwrap_or(ANSWER_TOKENS_MAX);
        let wish = RequestedCommand {
            script: arguments.cmd,
            workdir: arguments.workdir,
            kind: if arguments.tty.unwrap_or(false) {
                TerminalKind::Tty
            } else {
                TerminalKind::Pipes
            },
            permissions: arguments.sandbox_permissions,
            justification: arguments.justification,
            source: CommandSource::UnifiedExecStartup,
        };
        let request = match self.commands.request(&call, wish) {
            Ok(request) => request,
            Err(problem) => return item::failed(&call, NAME, problem).await,
        };
        if let Some(patch) = shell_patch::detect(&request.argv) {
            return self
                .editor
                .apply_shell(&call, NAME, patch, &request.cwd)
                .await;
        }
        match self.commands.run(&call, request, patience).await {
            Ok(run) => {
                self.answer(&call, run, tokens_max.min(ANSWER_TOKENS_MAX))
                    .await
            }
            Err(output) => output,
        }
    }
}
