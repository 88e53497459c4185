//! Why a command ends without having done its work, and the exit code that says so.

use std::fmt;
use std::io;
use std::process::ExitCode;

use troupe_model::ConnectError;

use crate::provider::ModelSetupError;

/// Exit codes, as `docs/exec.md` documents them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandExit {
    Success = 0,
    /// The task failed or was interrupted, or a check did not pass.
    Failed = 1,
    /// Arguments, configuration or prompt are not usable.
    Usage = 2,
    /// The session could not be opened: no model, no such session, no access to the home.
    NotStarted = 3,
    /// The task was completed; that of a child failed, which was said to matter.
    ChildFailed = 4,
    /// Something was asked that only a person may decide, and was said to end the run.
    ApprovalNeeded = 5,
    /// The model was asked as often as it may be, and the task is not done.
    TurnLimit = 6,
    /// What was waited for did not come in time.
    TimedOut = 124,
    /// A second Ctrl-C.
    Killed = 130,
    /// Another program asked for the end, which was an orderly one.
    Terminated = 143,
}

impl From<CommandExit> for ExitCode {
    fn from(exit: CommandExit) -> Self {
        Self::from(exit as u8)
    }
}

#[derive(Debug)]
pub struct CommandFailure {
    exit: CommandExit,
    error: anyhow::Error,
}

pub type Outcome = Result<CommandExit, CommandFailure>;

impl CommandFailure {
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(CommandExit::Usage, anyhow::Error::msg(message.into()))
    }

    pub fn not_started(error: impl Into<anyhow::Error>) -> Self {
        Self::new(CommandExit::NotStarted, error.into())
    }

    pub fn failed(error: impl Into<anyhow::Error>) -> Self {
        Self::new(CommandExit::Failed, error.into())
    }

    /// The work ended where a person must decide.
    pub fn approval_needed(plea: String) -> Self {
        Self::new(CommandExit::ApprovalNeeded, anyhow::Error::msg(plea))
    }

    fn new(exit: CommandExit, error: anyhow::Error) -> Self {
        Self { exit, error }
    }

    pub fn exit(&self) -> CommandExit {
        self.exit
    }

    /// Tells whether a provider has no key to be asked with.
    pub fn is_missing_key(&self) -> bool {
        let trouble = self.error.downcast_ref::<ModelSetupError>();
        let missing = |it: &ModelSetupError| {
            matches!(
                it,
                ModelSetupError::Connect(ConnectError::KeyMissing { .. })
            )
        };
        trouble.is_some_and(missing)
    }

    /// Tells whether the reader of our output went away, which is its right.
    pub fn is_broken_pipe(&self) -> bool {
        self.error
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// The message and its causes on one line.
impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}

impl From<troupe_config::ConfigError> for CommandFailure {
    fn from(error: troupe_config::ConfigError) -> Self {
        Self::new(CommandExit::Usage, error.into())
    }
}

impl From<io::Error> for CommandFailure {
    fn from(error: io::Error) -> Self {
        Self::new(CommandExit::Failed, error.into())
    }
}
