//! One event of an agent as one line for people.

use troupe_protocol::agent::SubagentLifecycle;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::input::UserInput;
use troupe_protocol::item::{CommandExecutionItem, FileChangeItem, UserMessageItem};
use troupe_protocol::text::one_line;
use troupe_protocol::{EventMsg, TurnItem};

use super::draw;
use crate::exec::command_line;
use crate::limits::SHOWN_LINE_CHARS_MAX;
use crate::style::TextStyle;
use crate::terminal::harmless;

/// Returns the line; none for what only programs want to know.
pub fn of(msg: &EventMsg, style: TextStyle) -> Option<String> {
    let text = match msg {
        EventMsg::ItemCompleted { item, .. } => return completed(item, style),
        EventMsg::TurnStarted(started) => style.dim(&format!("── task {}", started.turn_id)),
        EventMsg::TurnComplete(_) => style.green("── completed"),
        EventMsg::TurnAborted(aborted) => {
            style.yellow(&format!("── stopped: {}", aborted.reason.as_str()))
        }
        EventMsg::Error(error) => format!("{} {}", style.red("error:"), line(&error.message)),
        EventMsg::StreamError(error) => {
            format!("{} {}", style.yellow("again:"), line(&error.message))
        }
        EventMsg::Warning { message } => format!("{} {}", style.yellow("warning:"), line(message)),
        EventMsg::ExecApprovalRequest(request) => {
            let command = command_line::shown(&request.command);
            let who = request
                .agent
                .as_ref()
                .map(|agent| format!("{} ", agent.path));
            asks(&who.unwrap_or_default(), &line(&command), style)
        }
        EventMsg::ApplyPatchApprovalRequest(request) => {
            let files = request
                .changes
                .keys()
                .map(|path| path.display().to_string());
            let who = request
                .agent
                .as_ref()
                .map(|agent| format!("{} ", agent.path));
            let files = files.collect::<Vec<_>>().join(", ");
            asks(&who.unwrap_or_default(), &line(&files), style)
        }
        EventMsg::ApprovalResolved { decision, .. } => {
            format!("{} {}", style.yellow("answer:"), decision.as_str())
        }
        EventMsg::SubagentLifecycle(change) => return lifecycle(change, style),
        _ => return None,
    };
    Some(text)
}

fn completed(item: &TurnItem, style: TextStyle) -> Option<String> {
    let text = match item {
        // What the engine writes is marked up for models.
        TurnItem::UserMessage(item) => {
            let words = said(item).replace("**", "");
            format!("{} {}", style.cyan(">"), line(&words))
        }
        TurnItem::AgentMessage(item) => line(&item.text),
        TurnItem::Plan(item) => format!("plan: {}", line(&item.text)),
        TurnItem::Reasoning(item) => {
            let summary = item.summary_text.join(" ").replace("**", "");
            if summary.trim().is_empty() {
                return None;
            }
            style.dim(&line(&summary))
        }
        TurnItem::CommandExecution(item) => command(item, style),
        TurnItem::FileChange(item) => files(item, style),
        TurnItem::McpToolCall(item) => {
            call(&line(&format!("{}.{}", item.server, item.tool)), style)
        }
        TurnItem::ToolCall(item) => {
            let arguments = line(&item.arguments.to_string());
            format!(
                "{} {}",
                call(&line(&item.tool), style),
                style.dim(&arguments)
            )
        }
        TurnItem::ImageView(item) => format!("looks at {}", line(&item.path.display().to_string())),
        TurnItem::Skill(item) => format!("follows the skill {}", line(&item.name)),
        TurnItem::ContextCompaction(item) if item.status == WorkStatus::Completed => {
            style.dim("compacted its history")
        }
        TurnItem::ContextCompaction(_) => return None,
    };
    Some(text)
}

fn said(item: &UserMessageItem) -> String {
    let texts = item.content.iter().map(|input| match input {
        UserInput::Text { text, .. } => text.as_str(),
        _ => "[attachment]",
    });
    texts.collect::<Vec<_>>().join(" ")
}

fn command(item: &CommandExecutionItem, style: TextStyle) -> String {
    let words = line(&command_line::shown(&item.command));
    let code = item.outcome.as_ref().and_then(|outcome| outcome.exit_code);
    let end = match (code, item.status) {
        (Some(0), _) => style.green("→ 0"),
        (Some(code), _) => style.red(&format!("→ {code}")),
        (None, WorkStatus::Declined) => style.yellow("→ not allowed"),
        (None, WorkStatus::Failed) => style.yellow("→ did not finish"),
        (None, WorkStatus::InProgress | WorkStatus::Completed) => style.dim("→ goes on"),
    };
    format!("{} {words} {end}", style.cyan("$"))
}

fn files(item: &FileChangeItem, style: TextStyle) -> String {
    let paths = item.changes.keys().map(|path| path.display().to_string());
    let paths = line(&paths.collect::<Vec<_>>().join(", "));
    let end = match item.status {
        WorkStatus::Completed => String::new(),
        _ => style.red(" (not done)"),
    };
    format!("{} {paths}{end}", style.cyan("changes"))
}

fn lifecycle(change: &SubagentLifecycle, style: TextStyle) -> Option<String> {
    match change {
        SubagentLifecycle::Created { subagent } => {
            let path = subagent.path.as_deref().unwrap_or("a child");
            let summary = subagent.summary.as_deref().unwrap_or_default();
            Some(format!(
                "{} {path}: {}",
                style.cyan("spawned"),
                line(summary)
            ))
        }
        SubagentLifecycle::Status {
            agent_id, status, ..
        } => {
            let word = draw::colour(status, &draw::word(status), style);
            Some(format!("agent {agent_id} is {word}"))
        }
        SubagentLifecycle::Deleted { agent_id, .. } => Some(format!("agent {agent_id} is gone")),
        SubagentLifecycle::ReasoningHeader { .. } | SubagentLifecycle::Restored { .. } => None,
    }
}

fn asks(who: &str, what: &str, style: TextStyle) -> String {
    format!("{who}{} {what}", style.yellow("asks:"))
}

fn call(tool: &str, style: TextStyle) -> String {
    format!("{} {tool}", style.cyan("calls"))
}

fn line(text: &str) -> String {
    // Beside our own styles: a style of another hand would be taken for one of them.
    harmless(&one_line(text, SHOWN_LINE_CHARS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_in_the_words_of_others_is_none() {
        let message = "\u{1b}[31mred\u{1b}[0m \u{202e}".to_owned();
        let shown = of(&EventMsg::Warning { message }, TextStyle::Ansi).unwrap();
        let ours = TextStyle::Ansi.yellow("warning:");
        assert_eq!(
            shown,
            format!("{ours} \u{fffd}[31mred\u{fffd}[0m \\u{{202e}}")
        );
    }
}
