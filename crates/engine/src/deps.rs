//! What a session is given: everything it does not own and may not look up by itself.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use troupe_model::LanguageModel;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::session::{GitInfo, SessionSource, TurnContext};
use troupe_protocol::spawn::AnsweredCall;
use troupe_protocol::tool::DynamicTool;
use troupe_protocol::{EventMsg, SessionId};
use troupe_store::SessionStore;
use troupe_tools::Registry;

use crate::host::{ForkRights, SessionHost};
use crate::sharing::SharedEncodings;
use crate::skills::SkillLibrary;

/// The world outside a session.
#[derive(Debug, Clone)]
pub struct SessionDeps {
    pub configurator: Arc<dyn SessionConfigurator>,
    pub clock: SessionClock,
    pub ids: IdSource,
    pub terms: TaskTerms,
}

impl SessionDeps {
    pub fn new(configurator: Arc<dyn SessionConfigurator>) -> Self {
        Self {
            configurator,
            clock: SessionClock::system(),
            ids: IdSource::random(),
            terms: TaskTerms::default(),
        }
    }
}

/// What the program that drives a session holds its tasks to, beside the configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskTerms {
    pub answer_check: AnswerCheck,
    /// How many times the model may be asked while the session is open; summaries that make room
    /// are not counted. A task that needs another request is stopped.
    pub requests_max: Option<u32>,
}

/// Which side validates an answer against the schema that a client asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AnswerCheck {
    /// The client validates.
    #[default]
    ByClient,
    /// One that does not fit is asked for again once; then the task fails.
    ByEngine,
}

/// Turns a client's wishes and the user's configuration into what a session runs on.
#[async_trait]
pub trait SessionConfigurator: Send + Sync + fmt::Debug {
    async fn configure(&self, request: &ConfigureSession) -> Result<SessionSetup, ConfigureError>;
}

/// Why a session cannot be opened, with what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConfigureError {
    pub message: String,
    /// How clients are told.
    pub info: ErrorInfo,
}

impl ConfigureError {
    /// The request, or the configuration, is not usable as it is.
    pub fn refused(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            info: ErrorInfo::InvalidSubmission,
        }
    }
}

/// What a session runs on.
#[derive(Debug)]
pub struct SessionSetup {
    pub store: Arc<dyn SessionStore>,
    pub provider_id: String,
    pub model: Arc<dyn LanguageModel>,
    pub tools: Registry,
    /// The settings a new session begins with.
    pub context: TurnContext,
    pub instructions: InstructionSettings,
    pub window: WindowSettings,
    pub origin: SessionOrigin,
    /// Told to the client after `session_configured`.
    pub notices: Vec<SetupNotice>,
    /// The tree that the session is a member of, or [`NoHost`](crate::NoHost).
    pub host: Arc<dyn SessionHost>,
    /// What it shares with sessions like it.
    pub encodings: Arc<SharedEncodings>,
    /// The id of a new session; else one is made.
    pub session_id: Option<SessionId>,
    /// Under which the provider finds the beginning of a request again; else the session's
    /// id. A fork has that of its source, with which it shares its beginning.
    pub prompt_cache_key: Option<String>,
    /// The call that made this fork, open in the history that it shares. Other open calls
    /// are the source's, and are answered there.
    pub forking_call: Option<AnsweredCall>,
    /// What a fork of another tree's agent may do; `None` for one of a conversation that nobody
    /// is above.
    pub fork_rights: Option<Arc<dyn ForkRights>>,
    /// Those of the tools that a client runs itself, for the log of a new session: who brings it
    /// back can offer them again.
    pub dynamic_tools: Vec<DynamicTool>,
}

/// What a person should know of the configuration that a session is opened with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SetupNotice {
    Warning(String),
    /// Something that still works and will not for ever.
    Deprecated {
        summary: String,
        /// What to do about it.
        details: Option<String>,
    },
}

impl From<SetupNotice> for EventMsg {
    fn from(notice: SetupNotice) -> Self {
        match notice {
            SetupNotice::Warning(message) => Self::Warning { message },
            SetupNotice::Deprecated { summary, details } => {
                Self::DeprecationNotice { summary, details }
            }
        }
    }
}

#[derive(Debug, Clone)]
pub struct InstructionSettings {
    /// Replaces the built-in instructions.
    pub base: Option<Arc<str>>,
    /// Instructions of the user for all projects.
    pub user: Option<Arc<str>>,
    /// The file that they come from.
    pub user_file: Option<std::path::PathBuf>,
    /// What the session is for, after everything else that goes beside the history.
    pub role: Option<Arc<str>>,
    pub project: ProjectDocSettings,
    /// Shared by all sessions of the process.
    pub skills: Arc<SkillLibrary>,
    /// The name of the user's shell, for the environment context.
    pub shell: String,
    /// Where the user's clock stands, for the environment context.
    pub time_zone: jiff::tz::TimeZone,
}

impl Default for InstructionSettings {
    fn default() -> Self {
        Self {
            base: None,
            user: None,
            user_file: None,
            role: None,
            project: ProjectDocSettings::default(),
            skills: Arc::default(),
            shell: "bash".to_owned(),
            time_zone: jiff::tz::TimeZone::UTC,
        }
    }
}

/// Where project instructions are looked for.
#[derive(Debug, Clone)]
pub struct ProjectDocSettings {
    pub bytes_max: usize,
    /// Files that mark the root of a project.
    pub root_markers: Vec<String>,
    /// Looked for when a directory has no `AGENTS.md`.
    pub fallback_filenames: Vec<String>,
}

impl Default for ProjectDocSettings {
    fn default() -> Self {
        Self {
            bytes_max: crate::limits::PROJECT_DOC_BYTES_MAX,
            root_markers: vec![".git".to_owned()],
            fallback_filenames: Vec::new(),
        }
    }
}

/// Overrides of what the catalogue says about the model.
#[derive(Debug, Clone, Copy, Default)]
pub struct WindowSettings {
    pub context_window: Option<u64>,
    pub auto_compact_token_limit: Option<u64>,
}

/// The origin of a session.
#[derive(Debug, Clone)]
pub struct SessionOrigin {
    pub originator: String,
    pub cli_version: String,
    pub source: SessionSource,
    pub git: Option<GitInfo>,
}

/// Tells the time. A scenario brings its own, so that it prints the same bytes each run.
#[derive(Clone)]
pub struct SessionClock(Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>);

impl SessionClock {
    pub fn new(now: impl Fn() -> jiff::Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub fn system() -> Self {
        Self::new(jiff::Timestamp::now)
    }

    pub fn now(&self) -> jiff::Timestamp {
        (self.0)()
    }

    pub fn now_ms(&self) -> i64 {
        self.now().as_millisecond()
    }
}

impl fmt::Debug for SessionClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Makes ids.
#[derive(Clone)]
pub struct IdSource(Arc<dyn Fn() -> uuid::Uuid + Send + Sync>);

impl IdSource {
    pub fn new(next: impl Fn() -> uuid::Uuid + Send + Sync + 'static) -> Self {
        Self(Arc::new(next))
    }

    pub fn random() -> Self {
        Self::new(uuid::Uuid::new_v4)
    }

    pub fn session(&self) -> SessionId {
        SessionId((self.0)())
    }

    pub fn item(&self, prefix: &str) -> troupe_protocol::ItemId {
        troupe_protocol::ItemId(format!("{prefix}_{}", (self.0)().simple()))
    }
}

impl fmt::Debug for IdSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ids")
    }
}
