//! The end of a child's task as the answers of this family show it.

use serde::Serialize;
use serde_json::{Map, Value, json};
use troupe_protocol::AgentId;
use troupe_protocol::agent::AgentStatus;
use troupe_protocol::result::{StopReason, TaskResult};
use troupe_tree::status::CurrentStatus;

use crate::families::shape;
use crate::tree_access::{AgentView, FinishedTarget};

/// One end. The variant is the tag on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) enum SubagentCompletion {
    Completed { last_message: Option<String> },
    Canceled { reason: Option<String> },
    Failed { message: String },
}

impl SubagentCompletion {
    pub(super) fn of(finished: &FinishedTarget) -> Option<Self> {
        let view = finished.view.as_ref()?;
        let result = finished.result.as_deref();
        let completed = || Self::Completed {
            last_message: result.and_then(|result| result.last_message.clone()),
        };
        Some(match view.status {
            CurrentStatus::Completed => completed(),
            CurrentStatus::Errored | CurrentStatus::BudgetExceeded => Self::failed(view, result),
            CurrentStatus::Cancelled => Self::Canceled {
                reason: result.and_then(note),
            },
            CurrentStatus::Interrupted { why } => Self::Canceled {
                reason: Some(shape::interruption(why).to_owned()),
            },
            // Closed after its end: what its last task came to still holds.
            CurrentStatus::Shutdown => match result.map(|result| &result.stop) {
                Some(StopReason::Completed) => completed(),
                Some(
                    StopReason::Errored { .. }
                    | StopReason::OutputInvalid { .. }
                    | StopReason::FailedToStart { .. }
                    | StopReason::BudgetExceeded,
                ) => Self::failed(view, result),
                Some(_) | None => Self::Canceled {
                    reason: result.and_then(note),
                },
            },
            CurrentStatus::PendingInit
            | CurrentStatus::Ready
            | CurrentStatus::Queued { .. }
            | CurrentStatus::Running
            | CurrentStatus::Waiting { .. }
            | CurrentStatus::NotFound => return None,
            CurrentStatus::Lost => return Self::of_lost(view, result),
        })
    }

    /// How the last task of an agent ended whose log is gone, as far as the root's log tells.
    fn of_lost(view: &AgentView, result: Option<&TaskResult>) -> Option<Self> {
        Some(match view.last_told.as_ref()? {
            AgentStatus::Completed(text) => Self::Completed {
                last_message: result
                    .and_then(|result| result.last_message.clone())
                    .or_else(|| text.clone()),
            },
            AgentStatus::Errored(message) => Self::Failed {
                message: message.clone(),
            },
            AgentStatus::BudgetExceeded => Self::Failed {
                message: "the budget is used up".to_owned(),
            },
            AgentStatus::Interrupted | AgentStatus::Cancelled | AgentStatus::Shutdown => {
                Self::Canceled { reason: None }
            }
            // It was at work when its log was lost.
            _ => Self::Failed {
                message: "its log was lost while it was at work".to_owned(),
            },
        })
    }

    fn failed(view: &AgentView, result: Option<&TaskResult>) -> Self {
        let is_budget = result.is_some_and(|result| result.stop == StopReason::BudgetExceeded);
        let text = result.and_then(TaskResult::text);
        let message = match text.or_else(|| view.preview.clone()) {
            Some(text) if is_budget => format!("the budget is used up; last message: {text}"),
            None if is_budget => "the budget is used up".to_owned(),
            Some(text) => text,
            None => "the task failed".to_owned(),
        };
        Self::Failed { message }
    }

    pub(super) fn status(&self) -> &'static str {
        match self {
            Self::Completed { .. } => "completed",
            Self::Canceled { .. } => "canceled",
            Self::Failed { .. } => "failed",
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Completed { last_message } => last_message.as_deref(),
            Self::Canceled { reason } => reason.as_deref(),
            Self::Failed { message } => Some(message),
        }
    }
}

/// Returns the end of a child as the message that it is for its parent.
pub(super) fn message(finished: &FinishedTarget, recipient: AgentId) -> Option<Map<String, Value>> {
    let completion = SubagentCompletion::of(finished)?;
    let view = finished.view.as_ref()?;
    let ended_at_ms = finished
        .result
        .as_ref()
        .map_or(view.since_ms, |result| result.evidence.ended_at_ms);
    Some(shape::present([
        ("sender_agent_id", json!(view.agent)),
        ("recipient_agent_id", json!(recipient)),
        ("session_id", json!(view.session)),
        ("interrupt", json!(false)),
        ("prompt", json!(completion.text())),
        ("completion_status", json!(completion.status())),
        ("timestamp_ms", json!(ended_at_ms)),
    ]))
}

fn note(result: &TaskResult) -> Option<String> {
    match &result.stop {
        StopReason::Cancelled { note } => note.clone(),
        stop => shape::interrupted(stop).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests;
