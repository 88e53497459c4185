//! Tasks and their results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use troupe_protocol::SessionId;
use troupe_protocol::input::{UserInput, is_blank};
use troupe_protocol::outcome::OutcomeClass;
use troupe_protocol::result::{Evidence, StructuredOutput, TaskResult};

use super::message::MessageMetadataView;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PromptRequest {
    pub prompt: String,
    #[serde(default)]
    pub delivery: PromptDelivery,
}

/// What a prompt does to a session that is at work. One that is idle begins a task with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PromptDelivery {
    /// It joins the running task at its next request to the model.
    #[default]
    Steer,
    /// It takes the place of the running task.
    Interrupt,
}

/// Refuses a prompt that says nothing.
pub(crate) fn check_prompt(prompt: &str) -> Result<(), crate::Problem> {
    if is_blank(prompt) {
        return Err(crate::Problem::unprocessable(
            "prompt",
            "the prompt is blank; say what is to be done",
        ));
    }
    Ok(())
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct TaskView {
    pub id: String,
    pub session_id: SessionId,
    pub status: TaskStage,
    /// How it ended, more exactly than the status: `completed`, `errored`, `output_invalid`,
    /// `failed_to_start`, `interrupted`, `crash`, `shutdown`, `cancelled`, `budget_exceeded` or
    /// `replaced`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<&'static str>,
    /// Its place in the queue of its session, from 1, while it is queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Of the message that began it, if the engine wrote it for a child that ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MessageMetadataView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskStage {
    /// It waits for its session.
    Queued,
    Running,
    Completed,
    Failed,
    /// It did not fail, and can be continued.
    Interrupted,
    Cancelled,
}

impl From<OutcomeClass> for TaskStage {
    fn from(class: OutcomeClass) -> Self {
        match class {
            OutcomeClass::Completed => Self::Completed,
            OutcomeClass::Failed => Self::Failed,
            OutcomeClass::Interrupted => Self::Interrupted,
            OutcomeClass::Cancelled => Self::Cancelled,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskQuery {
    /// Whose task it is, for one that no session in memory has.
    pub session_id: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TaskPage {
    /// Oldest first.
    pub data: Vec<TaskView>,
}

/// What a task came to, with what the engine saw of it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TaskResultView {
    pub task_id: String,
    pub session_id: SessionId,
    pub status: TaskStage,
    pub stop_reason: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The answer under the schema that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<AnswerView>,
    pub evidence: EvidenceView,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AnswerView {
    pub valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// What the engine saw, whatever the model says.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EvidenceView {
    pub started_at: String,
    pub ended_at: String,
    pub message_count: u32,
    pub tool_use_count: u32,
    pub tokens: u64,
    pub commands: Vec<CommandView>,
    pub files: Vec<FileView>,
    /// Entries left out of the two lists because there were too many.
    pub omitted: u32,
    pub children: Vec<SessionId>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CommandView {
    pub command: String,
    /// Absent if it did not run, was killed, or goes on in the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub refused: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FileView {
    pub path: String,
    /// SHA-256 of the contents before; absent if there was no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl From<TaskResult> for TaskResultView {
    fn from(result: TaskResult) -> Self {
        let outcome = troupe_protocol::TaskOutcome::from(&result.stop);
        Self {
            task_id: result.task_id.0,
            session_id: result.session_id,
            status: outcome.class().into(),
            stop_reason: outcome.as_str(),
            error: result.stop.error().map(str::to_owned),
            last_message: result.last_message,
            output: result.output.map(|output| match output {
                StructuredOutput::Valid { value } => AnswerView {
                    valid: true,
                    value: Some(value),
                    problems: Vec::new(),
                },
                StructuredOutput::Invalid { problems } => AnswerView {
                    valid: false,
                    value: None,
                    problems,
                },
            }),
            evidence: result.evidence.into(),
        }
    }
}

impl From<Evidence> for EvidenceView {
    fn from(evidence: Evidence) -> Self {
        let time = |ms| troupe_store::UnixMillis(ms).to_string();
        Self {
            started_at: time(evidence.started_at_ms),
            ended_at: time(evidence.ended_at_ms),
            message_count: evidence.messages,
            tool_use_count: evidence.tool_use_count(),
            tokens: evidence.usage.total_tokens,
            omitted: evidence.omitted,
            children: evidence.children,
            commands: evidence
                .commands
                .into_iter()
                .map(|command| CommandView {
                    command: command.command,
                    exit_code: command.exit_code,
                    refused: command.refused,
                })
                .collect(),
            files: evidence
                .files
                .into_iter()
                .map(|file| FileView {
                    path: file.path.display().to_string(),
                    before: file.before,
                    after: file.after,
                })
                .collect(),
        }
    }
}

/// Returns what a message says in words.
pub(crate) fn words(content: &[UserInput]) -> String {
    let texts = content.iter().filter_map(|item| match item {
        UserInput::Text { text, .. } => Some(text.as_str()),
        UserInput::Image { .. }
        | UserInput::LocalImage { .. }
        | UserInput::Skill { .. }
        | UserInput::Mention { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
