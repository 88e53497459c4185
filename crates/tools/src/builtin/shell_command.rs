//! `shell_command`: one script, run to its end.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use troupe_protocol::command::CommandSource;
use troupe_protocol::tool::ToolSpec;

use crate::arguments;
use crate::call::ToolInvocation;
use crate::command::{CommandRunner, RequestedCommand, SandboxPermissions, TerminalKind};
use crate::edit::PatchEditor;
use crate::item;
use crate::limits::{COMMAND_TIMEOUT_DEFAULT_MS, COMMAND_TIMEOUT_MAX_MS};
use crate::shell_patch;
use crate::tool::{Tool, ToolConcurrency, ToolOutput};

const NAME: &str = "shell_command";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShellCommandArguments {
    /// The script.
    command: String,
    /// Where to run it; the working directory if absent.
    workdir: Option<String>,
    /// After how many milliseconds it is killed. Default 120000, at most 3600000.
    timeout_ms: Option<u64>,
    /// `require_escalated` asks the user to run it outside of the sandbox.
    sandbox_permissions: Option<SandboxPermissions>,
    /// With `require_escalated`: why, as a short question to the user.
    justification: Option<String>,
}

static SPEC: LazyLock<ToolSpec> = LazyLock::new(|| {
    arguments::function::<ShellCommandArguments>(
        NAME,
        "Runs a shell script to its end and returns its exit code and output. It has no \
         input and no terminal; what it leaves in the background is ended with it. Set \
         `workdir` instead of using `cd`.",
    )
});

#[derive(Debug)]
pub(crate) struct ShellCommand {
    commands: Arc<CommandRunner>,
    editor: Arc<PatchEditor>,
}

impl ShellCommand {
    pub(crate) fn new(commands: Arc<CommandRunner>, editor: Arc<PatchEditor>) -> Self {
        Self { commands, editor }
    }
}

#[async_trait]
impl Tool for ShellCommand {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn concurrency(&self) -> ToolConcurrency {
        ToolConcurrency::Shared
    }

    async fn call(&self, call: ToolInvocation) -> ToolOutput {
        let arguments: ShellCommandArguments = match arguments::parse(&call, &SPEC).await {
            Ok(arguments) => arguments,
            Err(output) => return output,
        };
        let timeout_ms = arguments.timeout_ms.unwrap_or(COMMAND_TIMEOUT_DEFAULT_MS);
        let patience = Duration::from_millis(timeout_ms.clamp(1, COMMAND_TIMEOUT_MAX_MS));
        let wish = RequestedCommand {
            script: arguments.command,
            workdir: arguments.workdir,
            kind: TerminalKind::Pipes,
            permissions: arguments.sandbox_permissions,
            justification: arguments.justification,
            source: CommandSource::Agent,
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
            Ok(run) => run.finish(&call).await,
            Err(output) => output,
        }
    }
}
