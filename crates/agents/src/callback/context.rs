//! The values that a callback's template can use.

use serde::Serialize;
use troupe_protocol::result::{StopReason, TaskResult};
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::text::one_line;
use troupe_protocol::{AgentId, SessionId, SubmissionId, TaskOutcome};
use troupe_store::UnixMillis;

use super::limits::{LAST_MESSAGE_BYTES_MAX, PROMPT_CHARS_MAX, REASON_CHARS_MAX};
use crate::tree_access::AgentView;

/// The child whose task ended, as far as its result does not say it.
#[derive(Debug, Clone, Copy)]
pub(super) struct EndedChild<'a> {
    pub agent: AgentId,
    pub path: &'a str,
    /// The parent's session.
    pub parent: SessionId,
    pub prompt: Option<&'a str>,
}

/// One ended task. Templates name the fields in camel case.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallbackContext {
    /// The first eight characters.
    pub child_session_id: String,
    pub child_session_full_id: SessionId,
    pub child_task_id: String,
    pub child_task_full_id: SubmissionId,
    pub child_agent_id: AgentId,
    pub child_path: String,
    pub parent_session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawn_prompt: Option<String>,
    pub status: &'static str,
    /// More exact than the status.
    pub stop_reason: &'static str,
    /// Why it ended, unless it completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_summary: Option<String>,
    pub completed_at: String,
    pub message_count: u32,
    pub tool_use_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_assistant_message: Option<String>,
}

impl CallbackContext {
    /// Tells of a child's ended task to the session `parent`.
    pub(crate) fn new(child: &AgentView, parent: SessionId, result: &TaskResult) -> Self {
        let child = EndedChild {
            agent: child.agent,
            path: &child.path,
            parent,
            prompt: child.spec.as_ref().map(|spec| spec.summary.as_str()),
        };
        Self::of(child, result)
    }

    pub(super) fn of(child: EndedChild<'_>, result: &TaskResult) -> Self {
        let end = TaskOutcome::from(&result.stop).row();
        let last = result.last_message.as_deref().map(cut_message);
        Self {
            child_session_id: result.session_id.short(),
            child_session_full_id: result.session_id,
            child_task_id: result.task_id.as_str().chars().take(8).collect(),
            child_task_full_id: result.task_id.clone(),
            child_agent_id: child.agent,
            child_path: child.path.to_owned(),
            parent_session_id: child.parent,
            spawn_prompt: child
                .prompt
                .map(|prompt| one_line(prompt, PROMPT_CHARS_MAX))
                .filter(|prompt| !prompt.is_empty()),
            status: end.callback,
            stop_reason: end.name,
            exit_summary: exit_summary(&result.stop),
            completed_at: UnixMillis(result.evidence.ended_at_ms).to_string(),
            message_count: result.evidence.messages,
            tool_use_count: result.evidence.tool_use_count(),
            last_assistant_message: last.filter(|message| !message.is_empty()),
        }
    }

    /// Returns it without what the configuration leaves out.
    pub(super) fn as_allowed(&self, config: &CallbackConfig) -> Self {
        let mut allowed = self.clone();
        if !config.include_original_prompt {
            allowed.spawn_prompt = None;
        }
        if !config.include_last_message {
            allowed.last_assistant_message = None;
        }
        allowed
    }
}

/// Says in one sentence why a task was not completed.
fn exit_summary(stop: &StopReason) -> Option<String> {
    let summary = match stop {
        StopReason::Completed => return None,
        StopReason::Errored { message, .. }
        | StopReason::OutputInvalid { message }
        | StopReason::FailedToStart { message } => message,
        StopReason::Interrupted => "it was interrupted",
        StopReason::Crash => "the engine died while it ran",
        StopReason::Shutdown => "the engine was shut down",
        StopReason::Cancelled { note: None } => "it was cancelled",
        StopReason::Cancelled { note: Some(note) } => &format!("it was cancelled: {note}"),
        StopReason::BudgetExceeded => "it used up its budget",
        StopReason::Replaced => "newer input took its place",
    };
    Some(one_line(summary, REASON_CHARS_MAX))
}

fn cut_message(text: &str) -> String {
    let text = text.trim();
    if text.len() <= LAST_MESSAGE_BYTES_MAX {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(LAST_MESSAGE_BYTES_MAX);
    let left_out = text.len() - end;
    format!(
        "{}… ({left_out} more bytes are in the result)",
        &text[..end]
    )
}
