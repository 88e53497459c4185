//! Events as one line each, without what differs from run to run.

use troupe_protocol::EventMsg;
use troupe_protocol::item::TurnItem;

/// Returns a line that shows what a reader of a scenario wants to see.
pub fn line(msg: &EventMsg) -> String {
    match msg {
        EventMsg::Error(error) => format!("error fatal={} {}", error.fatal, error.message),
        EventMsg::Warning { message } => format!("warning {message}"),
        EventMsg::TurnComplete(done) => format!(
            "task_complete {:?} {:?}",
            done.response_id.as_ref().map(ToString::to_string),
            done.last_agent_message
        ),
        EventMsg::TurnAborted(aborted) => format!("turn_aborted {:?}", aborted.reason),
        EventMsg::ResponseCompleted { response_id, .. } => {
            format!("response_completed {response_id}")
        }
        EventMsg::ItemStarted { item, .. } => format!("item_started {}", item_line(item)),
        EventMsg::ItemCompleted { item, .. } => format!("item_completed {}", item_line(item)),
        EventMsg::AgentMessageContentDelta(delta) => {
            format!("agent_message_content_delta {:?}", delta.delta)
        }
        EventMsg::PlanDelta(delta) => format!("plan_delta {:?}", delta.delta),
        EventMsg::AgentMessage { message } => format!("agent_message {message:?}"),
        EventMsg::UserMessage { message, .. } => format!("user_message {message:?}"),
        EventMsg::ExecCommandBegin(begin) => format!("exec_command_begin {:?}", begin.command),
        EventMsg::ExecCommandEnd(end) => format!(
            "exec_command_end exit={:?} {:?}",
            end.outcome.exit_code, end.outcome.aggregated_output
        ),
        EventMsg::ExecApprovalRequest(request) => {
            format!("exec_approval_request {:?}", request.command)
        }
        EventMsg::ApprovalResolved { decision, .. } => format!("approval_resolved {decision:?}"),
        EventMsg::StreamError(error) => {
            format!("stream_error {}/{}", error.attempt, error.attempts_max)
        }
        EventMsg::SteerReceipt(receipt) => format!("steer_receipt {receipt:?}"),
        other => tag(other),
    }
}

fn item_line(item: &TurnItem) -> String {
    match item {
        TurnItem::UserMessage(_) => "UserMessage".to_owned(),
        TurnItem::AgentMessage(item) => format!("AgentMessage {:?}", item.text),
        TurnItem::Plan(item) => format!("Plan {:?}", item.text),
        TurnItem::CommandExecution(item) => format!("CommandExecution {:?}", item.status),
        TurnItem::FileChange(item) => format!("FileChange {:?}", item.status),
        TurnItem::ToolCall(item) => format!("ToolCall {} {:?}", item.tool, item.status),
        other => serde_json::to_value(other)
            .ok()
            .and_then(|value| Some(value.get("type")?.as_str()?.to_owned()))
            .unwrap_or_default(),
    }
}

fn tag(msg: &EventMsg) -> String {
    serde_json::to_value(msg)
        .ok()
        .and_then(|value| Some(value.get("type")?.as_str()?.to_owned()))
        .unwrap_or_default()
}
