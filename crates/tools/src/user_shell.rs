//! Commands of the user's own: run as the user would run them, shown like those of the model.
//!
//! No policy is asked and nothing confines them: whoever submits one could as well type it
//! into a terminal. Their output is kept within the same bounds as any other.

use std::sync::Arc;
use std::time::Duration;

use troupe_protocol::command::CommandSource;

use crate::call::ToolInvocation;
use crate::command::{CommandRunner, RequestedCommand, TerminalKind};
use crate::item;
use crate::limits::COMMAND_TIMEOUT_MAX_MS;
use crate::tool::ToolOutput;

pub(crate) const NAME: &str = "user_shell";

#[derive(Debug, Clone)]
pub(crate) struct UserShell {
    commands: Arc<CommandRunner>,
}

impl UserShell {
    pub(crate) fn new(commands: Arc<CommandRunner>) -> Self {
        Self { commands }
    }

    /// Runs the command that is the call's input, in the call's directory.
    pub(crate) async fn run(&self, call: ToolInvocation) -> ToolOutput {
        let wish = RequestedCommand {
            script: call.input.as_str().to_owned(),
            workdir: None,
            kind: TerminalKind::Pipes,
            permissions: None,
            justification: None,
            source: CommandSource::UserShell,
        };
        let request = match self.commands.request(&call, wish) {
            Ok(request) => request,
            Err(problem) => return item::failed(&call, NAME, problem).await,
        };
        let patience = Duration::from_millis(COMMAND_TIMEOUT_MAX_MS);
        match self.commands.run_as_user(&call, request, patience).await {
            Ok(run) => run.finish(&call).await,
            Err(output) => output,
        }
    }
}
