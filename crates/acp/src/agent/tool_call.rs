//! Items of a conversation, as the tool calls that clients show.

use std::path::PathBuf;

use agent_client_protocol_schema::v1::{
    ContentBlock, TextContent, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus,
    ToolCallUpdate, ToolKind,
};
use serde_json::{Value, json};
use troupe_protocol::TurnItem;
use troupe_protocol::command::{FileChange, FileChanges, ParsedCommand, WorkStatus};
use troupe_protocol::item::{
    CommandExecutionItem, FileChangeItem, ImageViewItem, McpToolCallItem, ToolCallItem,
};
use troupe_protocol::text::one_line;

use super::diff;
use crate::limits::{OUTPUT_SHOWN_BYTES_MAX, TITLE_CHARS_MAX};
use crate::text::tail;

/// Returns the call that an item is; none for what is said.
pub(super) fn of(item: &TurnItem) -> Option<ToolCall> {
    match item {
        TurnItem::CommandExecution(item) => Some(command(item)),
        TurnItem::FileChange(item) => Some(file_change(item)),
        TurnItem::McpToolCall(item) => Some(mcp(item)),
        TurnItem::ToolCall(item) => Some(tool(item)),
        TurnItem::ImageView(item) => Some(image(item)),
        _ => None,
    }
}

/// Returns the same call as a change of one that was shown before.
pub(super) fn update(call: ToolCall) -> ToolCallUpdate {
    let (content, locations) = (call.content.is_empty(), call.locations.is_empty());
    let mut update = ToolCallUpdate::from(call);
    if content {
        // An empty list would take away what is shown.
        update.fields.content = None;
    }
    if locations {
        update.fields.locations = None;
    }
    update
}

pub(super) fn text(text: impl Into<String>) -> ToolCallContent {
    ToolCallContent::from(ContentBlock::Text(TextContent::new(text)))
}

/// Returns the output of a command as it is shown.
pub(super) fn output(output: &str) -> Vec<ToolCallContent> {
    let shown = tail(output, OUTPUT_SHOWN_BYTES_MAX);
    let shown = shown.trim_end();
    if shown.is_empty() {
        return Vec::new();
    }
    // A fence that is longer than any run of backticks inside.
    let fence = "`".repeat(longest_run(shown).max(2) + 1);
    vec![text(format!("{fence}\n{shown}\n{fence}"))]
}

fn longest_run(text: &str) -> usize {
    let runs = text.split(|letter| letter != '`');
    runs.map(str::len).max().unwrap_or_default()
}

/// Returns how a command is shown before it runs.
pub(super) fn of_command(
    id: String,
    command: &[String],
    parsed: &[ParsedCommand],
    cwd: PathBuf,
) -> ToolCall {
    let line = command_line(command);
    // The title is cut, and clients need not show the raw input: who agrees sees all of it.
    ToolCall::new(id, one_line(&line, TITLE_CHARS_MAX))
        .kind(command_kind(parsed))
        .content(vec![text(format!("$ {line}"))])
        .locations(command_locations(parsed, &cwd))
        .raw_input(json!({"command": command, "cwd": cwd}))
}

/// Returns how changes of files are shown before they are made.
pub(super) fn of_changes(id: String, changes: &FileChanges) -> ToolCall {
    let locations: Vec<_> = changes.keys().map(ToolCallLocation::new).collect();
    ToolCall::new(id, changes_title(changes))
        .kind(changes_kind(changes))
        .content(diff::of(changes))
        .locations(locations)
}

fn command(item: &CommandExecutionItem) -> ToolCall {
    let id = item.id.0.clone();
    let call = of_command(id, &item.command, &item.parsed_cmd, item.cwd.clone());
    let call = call.status(status(item.status));
    match &item.outcome {
        Some(outcome) => call
            .content(output(&outcome.aggregated_output))
            .raw_output(json!({
                "exit_code": outcome.exit_code,
                "duration_ms": outcome.duration_ms,
            })),
        None => call,
    }
}

/// A shell's script is what people know the command by.
fn command_line(command: &[String]) -> String {
    match command {
        [_, flag, script] if flag == "-c" || flag == "-lc" => script.clone(),
        words => words.join(" "),
    }
}

fn command_kind(parsed: &[ParsedCommand]) -> ToolKind {
    let all = |test: fn(&ParsedCommand) -> bool| !parsed.is_empty() && parsed.iter().all(test);
    if all(|part| matches!(part, ParsedCommand::Read { .. })) {
        ToolKind::Read
    } else if all(|part| {
        matches!(
            part,
            ParsedCommand::Search { .. } | ParsedCommand::ListFiles { .. }
        )
    }) {
        ToolKind::Search
    } else {
        ToolKind::Execute
    }
}

fn command_locations(parsed: &[ParsedCommand], cwd: &std::path::Path) -> Vec<ToolCallLocation> {
    let place = |part: &ParsedCommand| match part {
        ParsedCommand::Read { path, .. } => Some(ToolCallLocation::new(cwd.join(path))),
        ParsedCommand::ListFiles { .. }
        | ParsedCommand::Search { .. }
        | ParsedCommand::Unknown { .. } => None,
    };
    parsed.iter().filter_map(place).collect()
}

fn file_change(item: &FileChangeItem) -> ToolCall {
    let call = of_changes(item.id.0.clone(), &item.changes).status(status(item.status));
    match item.status {
        WorkStatus::Failed | WorkStatus::Declined if !item.stderr.is_empty() => {
            call.raw_output(json!({"error": item.stderr}))
        }
        _ => call,
    }
}

fn changes_title(changes: &FileChanges) -> String {
    let mut paths = changes.keys();
    match (paths.next(), changes.len()) {
        (Some(path), 1) => {
            let verb = match changes_kind(changes) {
                ToolKind::Delete => "Delete",
                ToolKind::Move => "Move",
                _ => "Edit",
            };
            one_line(&format!("{verb} {}", path.display()), TITLE_CHARS_MAX)
        }
        (_, count) => format!("Edit {count} files"),
    }
}

fn changes_kind(changes: &FileChanges) -> ToolKind {
    let all = |test: fn(&FileChange) -> bool| !changes.is_empty() && changes.values().all(test);
    if all(|change| matches!(change, FileChange::Delete { .. })) {
        ToolKind::Delete
    } else if all(
        |change| matches!(change, FileChange::Update { unified_diff, move_path: Some(_) } if unified_diff.is_empty()),
    ) {
        ToolKind::Move
    } else {
        ToolKind::Edit
    }
}

fn mcp(item: &McpToolCallItem) -> ToolCall {
    let call = ToolCall::new(
        item.id.0.clone(),
        one_line(&format!("{}: {}", item.server, item.tool), TITLE_CHARS_MAX),
    )
    .name(item.tool.clone())
    .status(status(item.status))
    .raw_input(item.arguments.clone());
    let call = match &item.result {
        Some(result) => call.content(said(result)).raw_output(result.clone()),
        None => call,
    };
    match &item.error {
        Some(error) => call.content(vec![text(error.clone())]),
        None => call,
    }
}

/// Returns the texts of a server's answer.
fn said(result: &Value) -> Vec<ToolCallContent> {
    let parts = result["content"].as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| part["text"].as_str());
    texts
        .map(|it| text(tail(it, OUTPUT_SHOWN_BYTES_MAX)))
        .collect()
}

fn tool(item: &ToolCallItem) -> ToolCall {
    let call = ToolCall::new(
        item.id.0.clone(),
        one_line(&tool_title(item), TITLE_CHARS_MAX),
    )
    .name(item.tool.clone())
    .kind(tool_kind(&item.tool))
    .status(status(item.status))
    .locations(tool_locations(&item.arguments))
    .raw_input(item.arguments.clone());
    match &item.output {
        Some(text) => call.content(output(text)),
        None => call,
    }
}

/// The first of these that a call has tells it from others of its tool.
const TELLING: [&str; 6] = ["path", "pattern", "query", "task_name", "message", "prompt"];

fn tool_title(item: &ToolCallItem) -> String {
    let mut told = TELLING
        .iter()
        .filter_map(|key| item.arguments[*key].as_str());
    match told.next() {
        Some(text) => format!("{}: {text}", item.tool),
        None => item.tool.clone(),
    }
}

fn tool_kind(tool: &str) -> ToolKind {
    match tool {
        "read_file" | "view_image" => ToolKind::Read,
        "list_dir" | "grep_files" | "find_files" => ToolKind::Search,
        "update_plan" => ToolKind::Think,
        "write_stdin" => ToolKind::Execute,
        _ => ToolKind::Other,
    }
}

fn tool_locations(arguments: &Value) -> Vec<ToolCallLocation> {
    let path = arguments["path"].as_str().map(PathBuf::from);
    // A relative path would be relative to who knows what.
    let path = path.filter(|path| path.is_absolute());
    let line = arguments["offset"].as_u64();
    let line = line.and_then(|line| u32::try_from(line).ok());
    path.map(|path| ToolCallLocation::new(path).line(line))
        .into_iter()
        .collect()
}

fn image(item: &ImageViewItem) -> ToolCall {
    let title = format!("View {}", item.path.display());
    ToolCall::new(item.id.0.clone(), one_line(&title, TITLE_CHARS_MAX))
        .kind(ToolKind::Read)
        .status(ToolCallStatus::Completed)
        .locations(vec![ToolCallLocation::new(item.path.clone())])
}

fn status(status: WorkStatus) -> ToolCallStatus {
    match status {
        WorkStatus::InProgress => ToolCallStatus::InProgress,
        WorkStatus::Completed => ToolCallStatus::Completed,
        WorkStatus::Failed | WorkStatus::Declined => ToolCallStatus::Failed,
    }
}
