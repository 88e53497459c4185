//! Items of the engine as clients know them.

use troupe_protocol::approval::{ExecApprovalRequest, PatchApprovalRequest};
use troupe_protocol::command::{self, FileChange, FileChanges, ParsedCommand};
use troupe_protocol::event::ReviewOutput;
use troupe_protocol::item::{
    CommandExecutionItem, FileChangeItem, McpToolCallItem, ToolCallItem, TurnItem,
};

use troupe_protocol::tree::MessageMetadata;

use crate::wire::item::{
    CallbackOrigin, CommandAction, CommandSource, ContentItem, FileUpdateChange, PatchChangeKind,
    ThreadItem, ToolError, ToolStatus, WorkStatus,
};

/// Returns the item as clients know it; `None` for one that they have no name for and that
/// says nothing which is not told otherwise.
pub(crate) fn item(item: &TurnItem) -> Option<ThreadItem> {
    let id = item.id().0.clone();
    Some(match item {
        TurnItem::UserMessage(message) => ThreadItem::UserMessage {
            id,
            client_id: message.client_id.clone(),
            content: message.content.iter().map(Into::into).collect(),
            callback: message.metadata.as_ref().map(callback),
        },
        TurnItem::AgentMessage(message) => ThreadItem::AgentMessage {
            id,
            text: message.text.clone(),
        },
        TurnItem::Plan(plan) => ThreadItem::Plan {
            id,
            text: plan.text.clone(),
        },
        TurnItem::Reasoning(reasoning) => ThreadItem::Reasoning {
            id,
            summary: reasoning.summary_text.clone(),
            content: reasoning.raw_content.clone(),
        },
        TurnItem::CommandExecution(command) => execution(id, command),
        TurnItem::FileChange(change) => file_change(id, change),
        TurnItem::McpToolCall(call) => mcp_call(id, call),
        TurnItem::ToolCall(call) => tool_call(id, call),
        TurnItem::ImageView(view) => ThreadItem::ImageView {
            id,
            path: view.path.clone(),
        },
        TurnItem::ContextCompaction(_) => ThreadItem::ContextCompaction { id },
        // The message that chose it is an item.
        TurnItem::Skill(_) => return None,
    })
}

fn callback(metadata: &MessageMetadata) -> CallbackOrigin {
    CallbackOrigin {
        is_callback: metadata.is_callback,
        source: metadata.source.clone(),
        child_session_id: metadata.child_session_id.to_string(),
        child_task_id: metadata.child_task_id.0.clone(),
    }
}

fn execution(id: String, item: &CommandExecutionItem) -> ThreadItem {
    let outcome = item.outcome.as_ref();
    ThreadItem::CommandExecution {
        id,
        command: command_line(&item.command),
        cwd: item.cwd.clone(),
        process_id: item.process_id.clone(),
        source: match item.source {
            command::CommandSource::Agent => CommandSource::Agent,
            command::CommandSource::UserShell => CommandSource::UserShell,
            command::CommandSource::UnifiedExecStartup => CommandSource::UnifiedExecStartup,
            command::CommandSource::UnifiedExecInteraction => CommandSource::UnifiedExecInteraction,
        },
        status: work_status(item.status),
        command_actions: actions(&item.parsed_cmd),
        aggregated_output: outcome.map(|outcome| outcome.aggregated_output.clone()),
        exit_code: outcome.and_then(|outcome| outcome.exit_code),
        duration_ms: outcome.map(|outcome| outcome.duration_ms),
    }
}

/// Returns the command that a question is about.
pub(crate) fn asked_command(id: String, request: &ExecApprovalRequest) -> ThreadItem {
    ThreadItem::CommandExecution {
        id,
        command: command_line(&request.command),
        cwd: request.cwd.clone(),
        process_id: None,
        source: CommandSource::Agent,
        status: WorkStatus::InProgress,
        command_actions: actions(&request.parsed_cmd),
        aggregated_output: None,
        exit_code: None,
        duration_ms: None,
    }
}

/// Returns the change that a question is about.
pub(crate) fn asked_patch(id: String, request: &PatchApprovalRequest) -> ThreadItem {
    ThreadItem::FileChange {
        id,
        changes: changes(&request.changes),
        status: WorkStatus::InProgress,
    }
}

/// Returns the words as one line that a shell would split the same way.
pub(crate) fn command_line(words: &[String]) -> String {
    let joined = shlex::try_join(words.iter().map(String::as_str));
    joined.unwrap_or_else(|_| words.join(" "))
}

pub(crate) fn actions(parsed: &[ParsedCommand]) -> Vec<CommandAction> {
    let action = |parsed: &ParsedCommand| match parsed.clone() {
        ParsedCommand::Read { cmd, name, path } => CommandAction::Read {
            command: cmd,
            name,
            path,
        },
        ParsedCommand::ListFiles { cmd, path } => CommandAction::ListFiles { command: cmd, path },
        ParsedCommand::Search { cmd, query, path } => CommandAction::Search {
            command: cmd,
            query,
            path,
        },
        ParsedCommand::Unknown { cmd } => CommandAction::Unknown { command: cmd },
    };
    parsed.iter().map(action).collect()
}

fn file_change(id: String, item: &FileChangeItem) -> ThreadItem {
    ThreadItem::FileChange {
        id,
        changes: changes(&item.changes),
        status: work_status(item.status),
    }
}

fn changes(changes: &FileChanges) -> Vec<FileUpdateChange> {
    let changes = changes.iter().map(|(path, change)| {
        let (kind, diff) = match change.clone() {
            FileChange::Add { content } => (PatchChangeKind::Add, content),
            FileChange::Delete { content } => (PatchChangeKind::Delete, content),
            FileChange::Update {
                unified_diff,
                move_path,
            } => (PatchChangeKind::Update { move_path }, unified_diff),
        };
        let path = path.clone();
        FileUpdateChange { path, kind, diff }
    });
    changes.collect()
}

fn mcp_call(id: String, item: &McpToolCallItem) -> ThreadItem {
    ThreadItem::McpToolCall {
        id,
        server: item.server.clone(),
        tool: item.tool.clone(),
        status: tool_status(item.status),
        arguments: item.arguments.clone(),
        result: item.result.clone(),
        error: item.error.clone().map(|message| ToolError { message }),
        duration_ms: item.duration_ms,
    }
}

fn tool_call(id: String, item: &ToolCallItem) -> ThreadItem {
    let text = item.output.clone();
    ThreadItem::DynamicToolCall {
        id,
        namespace: None,
        tool: item.tool.clone(),
        arguments: item.arguments.clone(),
        status: tool_status(item.status),
        content_items: text.map(|text| vec![ContentItem::InputText { text }]),
        success: match item.status {
            command::WorkStatus::InProgress => None,
            command::WorkStatus::Completed => Some(true),
            command::WorkStatus::Failed | command::WorkStatus::Declined => Some(false),
        },
    }
}

/// Returns what a review found, as text.
pub(super) fn review_text(output: Option<&ReviewOutput>) -> String {
    let Some(output) = output else {
        return "The review came to no result.".to_owned();
    };
    let findings = output.findings.iter().map(|finding| {
        let place = &finding.code_location;
        format!(
            "- {} ({}:{}-{})\n  {}",
            finding.title,
            place.absolute_file_path.display(),
            place.line_range.start,
            place.line_range.end,
            finding.body
        )
    });
    let explanation = std::iter::once(output.overall_explanation.clone());
    let parts: Vec<String> = explanation.chain(findings).collect();
    parts.join("\n\n")
}

fn work_status(status: command::WorkStatus) -> WorkStatus {
    match status {
        command::WorkStatus::InProgress => WorkStatus::InProgress,
        command::WorkStatus::Completed => WorkStatus::Completed,
        command::WorkStatus::Failed => WorkStatus::Failed,
        command::WorkStatus::Declined => WorkStatus::Declined,
    }
}

fn tool_status(status: command::WorkStatus) -> ToolStatus {
    match status {
        command::WorkStatus::InProgress => ToolStatus::InProgress,
        command::WorkStatus::Completed => ToolStatus::Completed,
        command::WorkStatus::Failed | command::WorkStatus::Declined => ToolStatus::Failed,
    }
}
