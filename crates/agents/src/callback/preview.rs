//! A template is tried before it is used: what it makes of an example child.

use thiserror::Error;
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::{AgentId, SessionId, SubmissionId};
use uuid::Uuid;

use super::{CallbackContext, TemplateError, custom, render};

/// What a parent would be told of an example child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallbackPreview {
    /// When its task was completed.
    pub completed: String,
    /// When it failed.
    pub failed: String,
}

/// A template that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}")]
pub struct TemplateFault {
    pub problem: String,
    /// Line and column, both from 1, where they are known.
    pub place: Option<(usize, usize)>,
}

/// Renders what the parent of an example child is told with this configuration.
pub fn preview(config: &CallbackConfig) -> Result<CallbackPreview, TemplateFault> {
    check(config)?;
    Ok(CallbackPreview {
        completed: render(config, &example(ExampleEnd::Completed)).text,
        failed: render(config, &example(ExampleEnd::Failed)).text,
    })
}

/// Tells whether the template can be used. One that says nothing of one kind of end may: the
/// default text stands in for it there.
pub(crate) fn check(config: &CallbackConfig) -> Result<(), TemplateFault> {
    let Some(template) = config.template.as_deref() else {
        return Ok(());
    };
    let mut says_something = false;
    for end in [ExampleEnd::Completed, ExampleEnd::Failed] {
        match custom(template, &example(end).as_allowed(config)) {
            Ok(_) => says_something = true,
            Err(TemplateError::Empty) => {}
            Err(error) => return Err(fault(&error)),
        }
    }
    if says_something {
        Ok(())
    } else {
        Err(fault(&TemplateError::Empty))
    }
}

fn fault(error: &TemplateError) -> TemplateFault {
    TemplateFault {
        problem: error.to_string(),
        place: error.place(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExampleEnd {
    Completed,
    Failed,
}

fn example(end: ExampleEnd) -> CallbackContext {
    let id = |last: u128| SessionId(Uuid::from_u128((0x4a7b_3c2d_u128 << 96) | last));
    let task = SubmissionId(id(3).to_string());
    let (status, stop_reason, exit_summary) = match end {
        ExampleEnd::Completed => ("completed", "completed", None),
        ExampleEnd::Failed => (
            "failed",
            "errored",
            Some("the model did not answer".to_owned()),
        ),
    };
    CallbackContext {
        child_session_id: id(1).short(),
        child_session_full_id: id(1),
        child_task_id: task.as_str().chars().take(8).collect(),
        child_task_full_id: task,
        child_agent_id: AgentId(1),
        child_path: "/root/tests".to_owned(),
        parent_session_id: id(2),
        spawn_prompt: Some("Run the tests and mend what fails.".to_owned()),
        status,
        stop_reason,
        exit_summary,
        completed_at: "2026-01-31T12:00:00.000Z".to_owned(),
        message_count: 4,
        tool_use_count: 9,
        last_assistant_message: Some("All 212 tests pass.".to_owned()),
    }
}

#[cfg(test)]
mod tests;
