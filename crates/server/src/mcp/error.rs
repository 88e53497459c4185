//! Why a call could not be done. Models read these texts: each says what to do instead.

use troupe_agents::tree_access;
use troupe_engine::SessionClosed;
use troupe_protocol::SessionId;
use troupe_protocol::policy::SandboxMode;

use crate::session_pool::{OpenError, SessionRefusal};

#[derive(Debug, thiserror::Error)]
pub(super) enum SessionToolError {
    #[error("{tool}: {problem}")]
    Arguments { tool: &'static str, problem: String },
    #[error(transparent)]
    Store(#[from] troupe_store::StoreError),
    #[error("the home cannot be used: {0}")]
    NoStore(String),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Refused(#[from] SessionRefusal),
    #[error(transparent)]
    Tree(#[from] tree_access::TreeError),
    #[error("the session ended meanwhile; prompt it again to go on with it")]
    Ended(#[from] SessionClosed),
    #[error(
        "sandboxMode {} is more than the configuration gives ({}); ask for that or less",
        name(*.asked), name(*.has)
    )]
    WiderSandbox {
        asked: SandboxMode,
        has: SandboxMode,
    },
    #[error(
        "agenticTool {tool:?} is not there; there are {}. A [backends] table of the configuration \
         adds one", .known.join(", ")
    )]
    UnknownAgenticTool { tool: String, known: Vec<String> },
    #[error(
        "session {parent} is run by {backend}, and so are its children; leave agenticTool out, or \
         choose another parent"
    )]
    RunByAnother { parent: SessionId, backend: String },
    #[error("{argument} is for children; give parentSessionId too, or leave it out")]
    OnlyForChildren { argument: &'static str },
    #[error("{argument} is for sessions of their own; leave it out with parentSessionId")]
    OnlyForRoots { argument: &'static str },
    #[error(
        "session {0} is not running here; troupe_sessions_get tells how it stands, and \
         troupe_sessions_prompt goes on with it"
    )]
    NotRunning(SessionId),
    #[error("the message was not taken: {0}")]
    Dead(&'static str),
    #[error("session {session} has no task {task:?}; troupe_tasks_list names those that it has")]
    NoTask { session: SessionId, task: String },
    #[error("no session in memory has a task {0:?}; say whose it is with sessionId")]
    UnknownTask(String),
    #[error("the call was cancelled")]
    Cancelled,
}

pub(super) fn name(mode: SandboxMode) -> &'static str {
    match mode {
        SandboxMode::ReadOnly => "read-only",
        SandboxMode::WorkspaceWrite => "workspace-write",
        SandboxMode::DangerFullAccess => "danger-full-access",
    }
}
