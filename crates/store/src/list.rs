//! Queries for lists of sessions, and their pages.

use std::path::PathBuf;

use troupe_protocol::SessionId;
use troupe_protocol::session::SessionSource;

use crate::clock::UnixMillis;
use crate::tree::AgentRow;

/// Filters, order and page. The default asks for the 25 sessions that changed last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Only sessions that worked in exactly one of these directories last. Empty: any.
    pub cwds: Vec<PathBuf>,
    pub archived: ArchivedFilter,
    /// Empty: any but `SubSession`, because the children of a session are seen with it.
    pub sources: Vec<SourceKind>,
    /// Empty: any provider.
    pub model_providers: Vec<String>,
    /// Found in name or preview, whatever the case of ASCII letters.
    pub search: Option<String>,
    pub sort: SortKey,
    pub direction: ListOrder,
    /// [`ListPage::next`] of the page before.
    pub cursor: Option<String>,
    /// See [`crate::limits`] for the default and the most.
    pub limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ArchivedFilter {
    #[default]
    Live,
    Archived,
    Any,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SortKey {
    Created,
    #[default]
    Updated,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListOrder {
    #[default]
    NewestFirst,
    OldestFirst,
}

/// A [`SessionSource`] without its details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SourceKind {
    Cli,
    Tui,
    Exec,
    AppServer,
    Mcp,
    Acp,
    SubSession,
    Unknown,
}

impl SourceKind {
    pub const ALL: [Self; 8] = [
        Self::Cli,
        Self::Tui,
        Self::Exec,
        Self::AppServer,
        Self::Mcp,
        Self::Acp,
        Self::SubSession,
        Self::Unknown,
    ];

    /// Returns the kind of this name.
    pub fn named(name: &str) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.as_str() == name)
            .unwrap_or(Self::Unknown)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Tui => "tui",
            Self::Exec => "exec",
            Self::AppServer => "app_server",
            Self::Mcp => "mcp",
            Self::Acp => "acp",
            Self::SubSession => "sub_session",
            Self::Unknown => "unknown",
        }
    }
}

impl From<&SessionSource> for SourceKind {
    fn from(source: &SessionSource) -> Self {
        match source {
            SessionSource::Cli => Self::Cli,
            SessionSource::Tui => Self::Tui,
            SessionSource::Exec => Self::Exec,
            SessionSource::AppServer => Self::AppServer,
            SessionSource::Mcp => Self::Mcp,
            SessionSource::Acp => Self::Acp,
            SessionSource::SubSession { .. } => Self::SubSession,
            SessionSource::Unknown(_) => Self::Unknown,
        }
    }
}

/// How new what the index says must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexFreshness {
    /// As it was left: nothing is looked at but the index. A session that another process has
    /// just begun may be missing.
    AsLeft,
    /// Every log is looked at first, whether it has grown.
    CaughtUp,
}

/// A page of sessions with what the trees of each hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OverviewPage {
    pub sessions: Vec<SessionOverview>,
    /// Asks for the next page; `None` on the last one.
    pub next: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionOverview {
    pub summary: SessionSummary,
    /// The agents of its tree, in the order of their birth.
    pub agents: Vec<AgentRow>,
    /// How many questions of the tree nobody has answered.
    pub questions: usize,
    /// Some process works with it.
    pub is_held: bool,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListPage {
    pub sessions: Vec<SessionSummary>,
    /// Asks for the next page; `None` on the last one.
    pub next: Option<String>,
    /// What the index met since it was last asked: unreadable lines, a broken `state.db`.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    pub id: SessionId,
    /// `None` for a session that is only in memory.
    pub path: Option<PathBuf>,
    pub created: UnixMillis,
    /// The time of the last line.
    pub updated: UnixMillis,
    /// Where its last turn worked.
    pub cwd: PathBuf,
    pub source: SessionSource,
    pub model_provider: String,
    pub model: Option<String>,
    pub name: Option<String>,
    pub note: Option<String>,
    /// The beginning of the first thing the user said.
    pub preview: Option<String>,
    /// All tokens so far, as the last `token_count` says.
    pub tokens: u64,
    pub archived: bool,
    pub forked_from: Option<SessionId>,
}
