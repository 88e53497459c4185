//! The request of one headless run: task, target, options.

use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use troupe_agents::RecoveryPolicy;
use troupe_protocol::ResponseId;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::ReviewTarget;

use crate::exec::shape::AnswerShape;
use crate::exec::unfinished_children::UnfinishedChildren;
use crate::layers::ConfigSource;
use crate::style::TextStyle;

#[derive(Debug)]
pub struct ExecRequest {
    pub source: ConfigSource,
    pub cwd: PathBuf,
    /// Writable besides the working directory.
    pub add_dirs: Vec<PathBuf>,
    pub continues: SessionChoice,
    pub task: ExecTask,
    pub output: ExecOutput,
    pub last_message_file: Option<PathBuf>,
    /// How often the first agent's model may be asked.
    pub turns_max: Option<NonZeroU32>,
    pub ephemeral: bool,
    pub cassette: CassetteMode,
    pub children: UnfinishedChildren,
    /// Whether a child's failure is one of the run.
    pub children_must_succeed: bool,
    /// What becomes of agents that were at work when the session ended; as configured if
    /// absent.
    pub recovery: Option<RecoveryPolicy>,
}

impl ExecRequest {
    /// A new session of its own, with everything else as configured.
    pub fn new(source: ConfigSource, cwd: PathBuf, task: ExecTask, output: ExecOutput) -> Self {
        Self {
            source,
            cwd,
            add_dirs: Vec::new(),
            continues: SessionChoice::New,
            task,
            output,
            last_message_file: None,
            turns_max: None,
            ephemeral: false,
            cassette: CassetteMode::None,
            children: UnfinishedChildren::default(),
            children_must_succeed: false,
            recovery: None,
        }
    }
}

/// What the run is for.
#[derive(Debug)]
pub enum ExecTask {
    Prompt {
        text: String,
        images: Vec<PathBuf>,
        /// The words at its beginning that may call a prompt of an MCP server.
        command: Option<String>,
        /// What the text points at.
        mentioned: Vec<UserInput>,
        shape: Option<AnswerShape>,
    },
    /// Only what the agents of a resumed session have left to do.
    GoOn { shape: Option<AnswerShape> },
    /// The history becomes a summary.
    Compact,
    Review {
        target: ReviewTarget,
        form: ReviewForm,
    },
}

impl ExecTask {
    pub fn prompt(text: impl Into<String>) -> Self {
        Self::Prompt {
            text: text.into(),
            images: Vec::new(),
            command: None,
            mentioned: Vec::new(),
            shape: None,
        }
    }
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewForm {
    Text,
    Json,
}

/// Which conversation the prompt belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SessionChoice {
    New,
    /// By id, by the first characters of it, by name, or by the file of another agent.
    Resume(String),
    Last {
        any_directory: bool,
    },
    Fork {
        session: String,
        at: Option<ResponseId>,
    },
}

/// The audience of the output.
#[derive(Debug, Clone, Copy)]
pub enum ExecOutput {
    Jsonl(JsonTexts),
    Human(TextStyle),
}

/// When programs are told of a text of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonTexts {
    /// Once, when it is whole.
    Whole,
    /// Also while it grows.
    Growing,
}

/// Whether the model's answers come from, or go to, a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CassetteMode {
    #[default]
    None,
    Record(PathBuf),
    Replay(PathBuf),
}
