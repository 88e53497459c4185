//! The older event names, derived from items.
//!
//! The engine thinks in items only. Clients that know the older names get them because
//! each item event is followed by its projection, live and when a rollout is replayed.

use crate::command::WorkStatus;
use crate::event::{EventMsg, ExecCommandBegin, ExecCommandEnd, McpInvocation};
use crate::id::{CallId, SubmissionId};
use crate::input::UserInput;
use crate::item::{CommandExecutionItem, CommandOutcome, TurnItem};

/// Returns the older events that follow `item_started`.
pub fn on_started(item: &TurnItem, turn_id: &SubmissionId) -> Vec<EventMsg> {
    match item {
        TurnItem::CommandExecution(item) => {
            vec![EventMsg::ExecCommandBegin(exec_begin(item, turn_id))]
        }
        TurnItem::FileChange(item) => vec![EventMsg::PatchApplyBegin {
            call_id: CallId(item.id.0.clone()),
            turn_id: turn_id.clone(),
            auto_approved: item.auto_approved,
            changes: item.changes.clone(),
        }],
        TurnItem::McpToolCall(item) => vec![EventMsg::McpToolCallBegin {
            call_id: CallId(item.id.0.clone()),
            invocation: McpInvocation {
                server: item.server.clone(),
                tool: item.tool.clone(),
                arguments: Some(item.arguments.clone()),
            },
        }],
        TurnItem::UserMessage(_)
        | TurnItem::AgentMessage(_)
        | TurnItem::Plan(_)
        | TurnItem::Reasoning(_)
        | TurnItem::ToolCall(_)
        | TurnItem::ImageView(_)
        | TurnItem::Skill(_)
        | TurnItem::ContextCompaction(_) => Vec::new(),
    }
}

/// Returns the older events that follow `item_completed`.
pub fn on_completed(item: &TurnItem, turn_id: &SubmissionId) -> Vec<EventMsg> {
    match item {
        TurnItem::UserMessage(item) => vec![EventMsg::UserMessage {
            message: joined_text(&item.content),
            content: item.content.clone(),
            metadata: item.metadata.clone(),
        }],
        TurnItem::AgentMessage(item) => vec![EventMsg::AgentMessage {
            message: item.text.clone(),
        }],
        TurnItem::Reasoning(item) => {
            let summaries = item
                .summary_text
                .iter()
                .map(|text| EventMsg::AgentReasoning { text: text.clone() });
            let raw = item
                .raw_content
                .iter()
                .map(|text| EventMsg::AgentReasoningRawContent { text: text.clone() });
            summaries.chain(raw).collect()
        }
        TurnItem::CommandExecution(item) => {
            vec![EventMsg::ExecCommandEnd(Box::new(ExecCommandEnd {
                begin: exec_begin(item, turn_id),
                process_id: item.process_id.clone(),
                outcome: item.outcome.clone().unwrap_or_else(not_run),
                status: item.status,
            }))]
        }
        TurnItem::FileChange(item) => vec![EventMsg::PatchApplyEnd {
            call_id: CallId(item.id.0.clone()),
            turn_id: turn_id.clone(),
            stdout: item.stdout.clone(),
            stderr: item.stderr.clone(),
            success: item.status == WorkStatus::Completed,
            changes: item.changes.clone(),
            status: item.status,
        }],
        TurnItem::McpToolCall(item) => vec![EventMsg::McpToolCallEnd {
            call_id: CallId(item.id.0.clone()),
            invocation: McpInvocation {
                server: item.server.clone(),
                tool: item.tool.clone(),
                arguments: Some(item.arguments.clone()),
            },
            duration_ms: item.duration_ms.unwrap_or_default(),
            result: item.result.clone(),
            error: item.error.clone(),
        }],
        TurnItem::ImageView(item) => vec![EventMsg::ViewImageToolCall {
            call_id: CallId(item.id.0.clone()),
            path: item.path.clone(),
        }],
        TurnItem::ContextCompaction(item) if item.status == WorkStatus::Completed => {
            vec![EventMsg::ContextCompacted]
        }
        TurnItem::ContextCompaction(_)
        | TurnItem::Plan(_)
        | TurnItem::ToolCall(_)
        | TurnItem::Skill(_) => Vec::new(),
    }
}

/// Returns the text parts of a user's message, one per line.
pub fn joined_text(content: &[UserInput]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|input| match input {
            UserInput::Text { text, .. } => Some(text.as_str()),
            UserInput::Image { .. }
            | UserInput::LocalImage { .. }
            | UserInput::Skill { .. }
            | UserInput::Mention { .. } => None,
        })
        .collect();
    texts.join("\n")
}

fn exec_begin(item: &CommandExecutionItem, turn_id: &SubmissionId) -> ExecCommandBegin {
    ExecCommandBegin {
        call_id: CallId(item.id.0.clone()),
        turn_id: turn_id.clone(),
        command: item.command.clone(),
        cwd: item.cwd.clone(),
        parsed_cmd: item.parsed_cmd.clone(),
        source: item.source,
    }
}

/// The outcome of a command that was declined or aborted before it ran.
fn not_run() -> CommandOutcome {
    CommandOutcome {
        exit_code: Some(-1),
        stdout: String::new(),
        stderr: String::new(),
        aggregated_output: String::new(),
        formatted_output: String::new(),
        duration_ms: 0,
    }
}
