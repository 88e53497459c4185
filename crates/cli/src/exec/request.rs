//! What one headless run is asked to do.

use std::path::PathBuf;

use troupe_protocol::ResponseId;

use crate::layers::ConfigSource;
use crate::style::Style;

#[derive(Debug)]
pub struct Request {
    pub source: ConfigSource,
    pub cwd: PathBuf,
    /// Writable besides the working directory.
    pub add_dirs: Vec<PathBuf>,
    pub continues: Continue,
    pub prompt: String,
    pub images: Vec<PathBuf>,
    pub output_schema: Option<serde_json::Value>,
    pub output: Output,
    pub last_message_file: Option<PathBuf>,
    pub ephemeral: bool,
    pub cassette: Cassette,
}

/// Which conversation the prompt belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Continue {
    New,
    /// By id, by the first characters of it, or by name.
    Resume(String),
    Last {
        any_directory: bool,
    },
    Fork {
        session: String,
        at: Option<ResponseId>,
    },
}

/// Who reads what happens.
#[derive(Debug, Clone, Copy)]
pub enum Output {
    Jsonl,
    Human(Style),
}

/// Whether the model's answers come from, or go to, a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Cassette {
    #[default]
    None,
    Record(PathBuf),
    Replay(PathBuf),
}
