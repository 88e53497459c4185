//! Runs the screen: keys, events and frames in one loop.

mod branch;
mod files;
mod screen;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::session::SessionLink;
use crate::settings::TuiSettings;
use crate::terminal::TerminalDevice;

/// Returns the time, as the states of this crate are told it.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Runs a screen until it is left. The terminal is as it was before when this returns.
pub async fn run(
    link: Box<dyn SessionLink>,
    terminal: TerminalDevice,
    options: ScreenOptions,
) -> Result<ScreenExit, ScreenError> {
    screen::ScreenLoop::new(link, terminal, options)?
        .run()
        .await
}

/// Why a screen ended that nobody left.
#[derive(Debug, thiserror::Error)]
pub enum ScreenError {
    #[error("the terminal is gone: {0}")]
    Terminal(#[from] std::io::Error),
    #[error(transparent)]
    Link(#[from] troupe_client::ClientError),
    #[error("{0}")]
    Settings(String),
}

/// How a screen is opened.
#[derive(Debug, Clone, Default)]
pub struct ScreenOptions {
    pub settings: TuiSettings,
    /// Submitted at once, as if it had been typed.
    pub prompt: Option<String>,
    /// Images that go with that prompt.
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
    /// Whether another session can be opened from this screen.
    pub has_next: bool,
    /// The person's own directory, which is shown as `~`.
    pub home: Option<PathBuf>,
    /// Prompts that were written down, for `/NAME WORDS`.
    pub saved_prompts: Option<SavedPrompts>,
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

impl TerminalSurroundings {
    /// Tells whether lines are all that the terminal, or whoever listens to it, can do with.
    pub fn wants_plain(&self) -> bool {
        self.accessible || self.term == "dumb"
    }

    /// Tells whether the terminal is known to break rows that became too long when its window is
    /// made narrower. Where nobody knows, nothing is done that could cost a row of history.
    pub fn reflows(&self) -> bool {
        let programs = [
            "iTerm.app",
            "WezTerm",
            "ghostty",
            "kitty",
            "Apple_Terminal",
            "vscode",
        ];
        let terms = ["xterm-kitty", "xterm-ghostty", "foot", "alacritty"];
        self.tmux
            || programs.contains(&self.program.as_str())
            || terms.contains(&self.term.as_str())
    }
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

/// Finds prompts that people wrote down. They lie in files, so the caller brings this.
pub type SavedPrompts = std::sync::Arc<dyn FindPrompts>;

/// See [`SavedPrompts`].
pub trait FindPrompts: std::fmt::Debug + Send + Sync {
    /// Returns the names that there are, without the slash.
    fn names(&self) -> Vec<String>;

    /// Returns what a line `/NAME WORDS` stands for; none if nothing has that name. An error is
    /// told in its words.
    fn fill(&self, line: &str) -> Result<Option<String>, String>;
}

/// How a screen was left, and what is to come after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenExit {
    pub ending: SessionEnding,
    pub next: Option<NextSession>,
}

/// What a person wants after a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextSession {
    New,
    /// One that begins with the history of the one that was left.
    Fork,
    /// One that is chosen from a list.
    Pick,
    /// None; the one that was left is put away.
    Archive,
    /// None; the one that was left is deleted for good.
    Delete,
}

/// How the session was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnding {
    /// Let the work go on without the screen.
    KeepRunning,
    /// End the engine; what ran can be resumed.
    Suspend,
    /// Nothing runs, or the session has ended by itself.
    Ended,
}
