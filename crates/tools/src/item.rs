//! How calls without an item kind of their own are shown to people.

use std::future::Future;

use serde_json::Value;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::history::{ContentItem, ToolOutputBody};
use troupe_protocol::item::{ToolCallItem, TurnItem};

use crate::call::{ToolEvent, ToolInvocation};
use crate::tool::ToolOutput;

/// Runs `work` as a tool-call item: started before, completed with the answer after.
pub async fn shown(
    call: &ToolInvocation,
    tool: &str,
    work: impl Future<Output = ToolOutput>,
) -> ToolOutput {
    let mut item = ToolCallItem {
        id: call.item_id(),
        tool: tool.to_owned(),
        arguments: arguments(call),
        status: WorkStatus::InProgress,
        output: None,
    };
    let started = TurnItem::ToolCall(item.clone());
    call.channel.report(ToolEvent::Started(started)).await;
    let output = work.await;
    item.status = if output.success {
        WorkStatus::Completed
    } else {
        WorkStatus::Failed
    };
    item.output = Some(answer_text(&output.body));
    let completed = TurnItem::ToolCall(item);
    call.channel.report(ToolEvent::Completed(completed)).await;
    output
}

/// Shows and answers a call that could not even begin.
pub async fn failed(call: &ToolInvocation, tool: &str, text: String) -> ToolOutput {
    shown(call, tool, async { ToolOutput::failure(text) }).await
}

fn arguments(call: &ToolInvocation) -> Value {
    let text = call.input.as_str();
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

fn answer_text(body: &ToolOutputBody) -> String {
    match body {
        ToolOutputBody::Text(text) => text.clone(),
        ToolOutputBody::Parts(parts) => parts.iter().filter_map(ContentItem::text).collect(),
    }
}
