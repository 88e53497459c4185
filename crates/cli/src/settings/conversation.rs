//! Settings of the conversation: instructions, personality, mode, project documents.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use troupe_protocol::policy::{CollaborationMode, Personality};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ConversationSettings {
    /// Instructions for all projects, after those in `$TROUPE_HOME/AGENTS.md`.
    pub instructions: Option<String>,
    /// A file that replaces the built-in instructions.
    pub model_instructions_file: Option<PathBuf>,
    /// How the model speaks: friendly, pragmatic, none.
    pub personality: Option<Personality>,
    /// How a session works with people: plan (it proposes and changes nothing), default.
    pub collaboration_mode: Option<CollaborationMode>,
    /// How many seconds a model waits for the answers to its questions. Absent: for ever.
    pub user_input_timeout_s: Option<NonZeroU32>,
    /// The most that is taken from the project's instruction files together.
    pub project_doc_max_bytes: usize,
    /// Read where a directory has no `AGENTS.md`.
    pub project_doc_fallback_filenames: Vec<String>,
    /// Files that mark the root of a project.
    pub project_root_markers: Vec<String>,
}

impl ConversationSettings {
    pub fn answer_time_max(&self) -> Option<Duration> {
        let seconds = self.user_input_timeout_s?;
        Some(Duration::from_secs(seconds.get().into()))
    }
}
