//! The request of one headless run: task, target, options.

use std::num::NonZeroU32;
use std::path::PathBuf;

use troupe_agents::Recovery;
use troupe_protocol::ResponseId;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::ReviewTarget;

use crate::exec::children::Children;
use crate::exec::shape::Shape;
use crate::layers::ConfigSource;
use crate::style::Style;

#[derive(Debug)]
pub struct Request {
    pub source: ConfigSource,
    pub cwd: PathBuf,
    /// Writable besides the working directory.
    pub add_dirs: Vec<PathBuf>,
    pub continues: Continue,
    pub task: Task,
    pub output: Output,
    pub last_message_file: Option<PathBuf>,
    /// How often the first agent's model may be asked.
    pub turns_max: Option<NonZeroU32>,
    pub ephemeral: bool,
    pub cassette: Cassette,
    pub children: Children,
    /// Whether a child's failure is one of the run.
    pub children_must_succeed: bool,
    /// What becomes of agents that were at work when the session ended; as configured if
    /// absent.
    pub recovery: Option<Recovery>,
}

impl Request {
    /// A new session of its own, with everything else as configured.
    pub fn new(source: ConfigSource, cwd: PathBuf, task: Task, output: Output) -> Self {
        Self {
            source,
            cwd,
            add_dirs: Vec::new(),
            continues: Continue::New,
            task,
            output,
            last_message_file: None,
            turns_max: None,
            ephemeral: false,
            cassette: Cassette::None,
            children: Children::default(),
            children_must_succeed: false,
            recovery: None,
        }
    }
}

/// What the run is for.
#[derive(Debug)]
pub enum Task {
    Prompt {
        text: String,
        images: Vec<PathBuf>,
        /// What the text points at.
        mentioned: Vec<UserInput>,
        shape: Option<Shape>,
    },
    /// Only what the agents of a resumed session have left to do.
    GoOn { shape: Option<Shape> },
    /// The history becomes a summary.
    Compact,
    Review {
        target: ReviewTarget,
        form: ReviewForm,
    },
}

impl Task {
    pub fn prompt(text: impl Into<String>) -> Self {
        Self::Prompt {
            text: text.into(),
            images: Vec::new(),
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Continue {
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
pub enum Output {
    Jsonl(JsonTexts),
    Human(Style),
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
pub enum Cassette {
    #[default]
    None,
    Record(PathBuf),
    Replay(PathBuf),
}
