//! Runs the screen: keys, events and frames in one loop.

use std::path::PathBuf;

use crate::settings::TuiSettings;

/// How a screen is opened.
#[derive(Debug, Clone, Default)]
pub struct ScreenOptions {
    pub settings: TuiSettings,
    /// Submitted at once, as if it had been typed.
    pub prompt: Option<String>,
    /// Files that are attached to that prompt.
    pub images: Vec<PathBuf>,
    /// What the environment says of the terminal.
    pub surroundings: TerminalSurroundings,
    /// What people typed in earlier sessions, oldest first.
    pub prompts: Vec<String>,
    /// The user's editor, as `VISUAL` or `EDITOR` names it, and who starts it.
    pub editor: Option<EditorCommand>,
    /// Whether the session goes on without this screen: else leaving while agents work does not
    /// offer to keep them running.
    pub outlives_screen: bool,
}

/// What the environment says of the terminal. The caller reads the environment; this crate does
/// not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalSurroundings {
    /// `TERM`.
    pub term: String,
    /// `TERM_PROGRAM`.
    pub program: String,
    /// `NO_COLOR` is set and not empty.
    pub no_color: bool,
    /// `ACCESSIBLE` is set and not empty: lines for screen readers.
    pub accessible: bool,
    /// `TMUX` is set: sequences for the terminal outside are wrapped.
    pub tmux: bool,
    /// `COLORFGBG`.
    pub colour_hint: String,
}

/// Edits a text: starts the user's editor on the terminal, and returns what was saved; the same
/// text if nothing was. Processes are started by the crate `process` alone, so the caller brings
/// this.
pub type EditorCommand = std::sync::Arc<dyn EditText>;

/// See [`EditorCommand`].
#[async_trait::async_trait]
pub trait EditText: std::fmt::Debug + Send + Sync {
    async fn edit(&self, text: String) -> std::io::Result<String>;
}

/// How a screen was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnding {
    /// Let the work go on without the screen.
    KeepRunning,
    /// End the engine; what ran can be resumed.
    Suspend,
    /// Nothing runs, or the session has ended by itself.
    Ended,
}
