//! What a run came to: the exit code, and what is written besides.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use troupe_protocol::event::ReviewOutput;

use crate::commands::{print, tell};
use crate::exec::request::ReviewForm;
use crate::exec::review::findings;
use crate::exec::roster::AgentRoster;
use crate::failure::{CommandExit, CommandFailure, Outcome};

/// How the task of a run ended.
#[derive(Debug)]
pub enum TaskEnd {
    Completed { message: Option<String> },
    Reviewed(Option<ReviewOutput>),
    Aborted,
}

/// Whether the run was stopped, and by whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunStop {
    No,
    /// A person asked, or nobody reads any more.
    Interrupted,
    /// Another program asked.
    Terminated,
    /// A person must decide before anything goes on.
    Escalated,
    /// The model was asked as often as it may be.
    TurnLimit,
}

impl RunStop {
    /// Returns what stays written at the agents that were stopped with the run.
    pub fn note(self) -> &'static str {
        match self {
            Self::Escalated => "the run ended because a person must decide something first",
            Self::TurnLimit => "the run ended at its limit of turns",
            Self::No | Self::Interrupted | Self::Terminated => "the run was interrupted",
        }
    }

    /// Tells whether a note says that an agent was stopped with a run.
    pub fn is_note(note: &str) -> bool {
        let stops = [Self::Interrupted, Self::Escalated, Self::TurnLimit];
        stops.iter().any(|stop| stop.note() == note)
    }
}

/// Where it is told.
#[derive(Debug)]
pub struct RunReport {
    pub cwd: PathBuf,
    pub review: Option<ReviewForm>,
    pub last_message_file: Option<PathBuf>,
    pub children_must_succeed: bool,
}

impl RunReport {
    /// Writes what the run came to.
    pub fn exit(&self, end: Option<TaskEnd>, stopping: RunStop, roster: &AgentRoster) -> Outcome {
        match stopping {
            RunStop::Terminated => return Ok(CommandExit::Terminated),
            RunStop::Escalated => return Ok(CommandExit::ApprovalNeeded),
            RunStop::TurnLimit => return Ok(CommandExit::TurnLimit),
            RunStop::No | RunStop::Interrupted => {}
        }
        match end {
            Some(TaskEnd::Completed { .. } | TaskEnd::Reviewed(_))
                if stopping == RunStop::Interrupted =>
            {
                Ok(CommandExit::Failed)
            }
            Some(TaskEnd::Completed { message }) => {
                if let Some(path) = &self.last_message_file {
                    write_last_message(path, message.as_deref())?;
                }
                Ok(
                    if self.children_must_succeed && !roster.failed().is_empty() {
                        CommandExit::ChildFailed
                    } else {
                        CommandExit::Success
                    },
                )
            }
            Some(TaskEnd::Reviewed(Some(output))) => {
                let text = match self.review {
                    Some(ReviewForm::Json) => {
                        serde_json::to_string(&output).map_err(CommandFailure::failed)? + "\n"
                    }
                    Some(ReviewForm::Text) | None => findings(&output, &self.cwd),
                };
                if let Some(path) = &self.last_message_file {
                    write_last_message(path, Some(&text))?;
                }
                print(&text)?;
                Ok(CommandExit::Success)
            }
            Some(TaskEnd::Reviewed(None)) => {
                let text = "the reviewer came to no result";
                Err(CommandFailure::failed(anyhow::Error::msg(text)))
            }
            // What was said before it is not the answer of this run.
            Some(TaskEnd::Aborted) | None => Ok(CommandExit::Failed),
        }
    }
}

fn write_last_message(path: &Path, message: Option<&str>) -> Result<(), CommandFailure> {
    if message.is_none() {
        tell(&format!(
            "warning: the task ended without a message; {} is empty",
            path.display()
        ));
    }
    std::fs::write(path, message.unwrap_or_default())
        .with_context(|| format!("cannot write {}", path.display()))
        .map_err(CommandFailure::failed)
}
