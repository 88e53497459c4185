//! How a command is shown to people.

use std::time::Duration;

use troupe_protocol::command::{CommandSource, WorkStatus};
use troupe_protocol::item::{CommandExecutionItem, CommandOutcome, TurnItem};

use super::capture::OutputCapture;
use super::table::TerminalId;
use super::terminal::CommandTerminal;
use super::{PreparedCommand, exit_code};
use crate::call::{ToolEvent, ToolInvocation};
use crate::safety;
use crate::tool::ToolOutput;

/// The item of one call that runs or looks after a command.
#[derive(Debug)]
pub(crate) struct CommandItem(CommandExecutionItem);

/// What a call has to say of its command in the end.
#[derive(Debug)]
pub(crate) struct CommandSummary<'a> {
    pub status: WorkStatus,
    pub exit_code: Option<i32>,
    pub capture: &'a OutputCapture,
    pub elapsed: Duration,
}

impl CommandItem {
    pub(crate) fn new(call: &ToolInvocation, request: &PreparedCommand) -> Self {
        Self(CommandExecutionItem {
            id: call.item_id(),
            command: request.argv.clone(),
            cwd: request.cwd.clone(),
            parsed_cmd: safety::describe(&request.argv),
            source: request.source,
            process_id: None,
            status: WorkStatus::InProgress,
            outcome: None,
        })
    }

    /// The item of a call that looks after a command which an earlier call started.
    pub(crate) fn interaction(
        call: &ToolInvocation,
        id: TerminalId,
        terminal: &CommandTerminal,
    ) -> Self {
        Self(CommandExecutionItem {
            id: call.item_id(),
            command: terminal.argv.clone(),
            cwd: terminal.cwd.clone(),
            parsed_cmd: safety::describe(&terminal.argv),
            source: CommandSource::UnifiedExecInteraction,
            process_id: Some(id.to_string()),
            status: WorkStatus::InProgress,
            outcome: None,
        })
    }

    pub(crate) fn goes_on_as(&mut self, id: TerminalId) {
        self.0.process_id = Some(id.to_string());
    }

    pub(crate) async fn started(&self, call: &ToolInvocation) {
        let item = TurnItem::CommandExecution(self.0.clone());
        call.channel.report(ToolEvent::Started(item)).await;
    }

    /// Completes the item and returns the text as the call's answer.
    pub(crate) async fn completed(
        mut self,
        call: &ToolInvocation,
        outcome: CommandSummary<'_>,
        text: String,
    ) -> ToolOutput {
        self.0.status = outcome.status;
        self.0.outcome = Some(CommandOutcome {
            exit_code: outcome.exit_code,
            stdout: outcome.capture.stdout.render(),
            stderr: outcome.capture.stderr.render(),
            aggregated_output: outcome.capture.aggregated.render(),
            formatted_output: text.clone(),
            duration_ms: u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
        });
        self.close(call, text).await
    }

    /// Completes a started item whose command could not be started.
    pub(crate) async fn not_started(mut self, call: &ToolInvocation, text: String) -> ToolOutput {
        self.0.status = WorkStatus::Failed;
        self.close(call, text).await
    }

    /// Shows a command that was not allowed to run.
    pub(crate) async fn declined(mut self, call: &ToolInvocation, text: String) -> ToolOutput {
        self.started(call).await;
        self.0.status = WorkStatus::Declined;
        self.close(call, text).await
    }

    async fn close(self, call: &ToolInvocation, text: String) -> ToolOutput {
        let success = matches!(
            self.0.status,
            WorkStatus::Completed | WorkStatus::InProgress
        );
        let item = TurnItem::CommandExecution(self.0);
        call.channel.report(ToolEvent::Completed(item)).await;
        ToolOutput {
            body: text.into(),
            success,
            claim: None,
        }
    }
}

impl<'a> CommandSummary<'a> {
    pub(crate) fn of_exit(
        exit: &troupe_process::ProcessExit,
        capture: &'a OutputCapture,
        elapsed: Duration,
    ) -> Self {
        let code = exit_code(exit);
        Self {
            status: if code == 0 {
                WorkStatus::Completed
            } else {
                WorkStatus::Failed
            },
            exit_code: Some(code),
            capture,
            elapsed,
        }
    }
}
