//! Many root sessions ("threads") in one process, for ways in that serve more than one.
//!
//! ```text
//!  app-server ─┐            start, resume, fork        ┌─ SessionFactory: what a root is opened with
//!  mcp, acp ───┴─► House ─► actor: who is in memory ───┴─ engine: one session per thread
//!     ▲                        │
//!     └──────── Thread ◄───────┘   submissions, events (each reads on its own), the tree
//! ```
//!
//! A [`RootSession`] that somebody holds is in use and stays. One that nobody holds, with nothing to
//! do, leaves memory after a while, or when there are too many of them, and is brought back by
//! [`SessionPool::resume`]. An idle thread costs what its session costs: no task and no timer of its
//! own.
//!
//! Deliberately absent: who may do what, names of methods, and the children of a thread. A
//! child belongs to the tree of its root: [`RootSession::agents`].

mod actor;
mod members;
mod open;
mod root_session;

use std::fmt;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;
use troupe_agents::{AgentsConfigurator, RootDeps, TreeHandle};
use troupe_engine::{EventTap, SessionHandle};
use troupe_protocol::SessionId;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::op::{ConfigureSession, ForkPoint};
use troupe_protocol::tool::DynamicTool;
use troupe_store::SessionStore;

use crate::limits::HOUSE_REQUESTS_QUEUED_MAX;
use crate::prompt_commands::PromptCommandLibrary;
use actor::{PoolActor, PoolRequest};
pub use members::{dead_agent_advice, place_of};
pub use root_session::{RootSession, SessionRefusal};

/// Whoever knows models, tools and files.
pub trait SessionFactory: Send + Sync + fmt::Debug {
    /// Returns what one new root is opened with. Roots share all that they can.
    fn grove(&self) -> RootDeps;

    /// Returns a task that runs beside a new root, from before it is opened until it is let go
    /// of, and has the trees that it grows; by default there is none.
    fn companion(&self, _configurator: &AgentsConfigurator) -> Option<AbortOnDropHandle<()>> {
        None
    }

    /// Returns who knows the prompts that people call by name; by default nobody.
    fn commands(&self) -> Option<Arc<dyn PromptCommandLibrary>> {
        None
    }

    /// Is told of each root that was opened and is kept somewhere, so that others may attach to
    /// it; by default nobody can.
    fn opened(&self, _root: AttachableRoot) {}

    /// Returns where conversations are kept, or why they cannot be.
    fn store(&self) -> Result<Arc<dyn SessionStore>, String>;
}

/// A root that has been opened, as others attach to it.
#[derive(Debug)]
pub struct AttachableRoot {
    pub id: SessionId,
    pub handle: SessionHandle,
    pub events: EventTap,
    pub agents: TreeHandle,
}

/// The way to all threads of a process. Cheap to clone; dropping every clone ends them as
/// [`SessionPool::end`] does.
#[derive(Debug, Clone)]
pub struct SessionPool {
    asks: mpsc::Sender<PoolRequest>,
    ground: Arc<dyn SessionFactory>,
    kept_tools: ResumedTools,
}

/// Whether threads that are brought back have the tools that a client ran for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ResumedTools {
    /// No client of this way in can run them.
    Left,
    Offered,
}

/// How a thread is to be opened.
#[derive(Debug)]
struct SessionOpening {
    request: ConfigureSession,
    tools: OpeningTools,
}

/// Which tools the clients of a thread run.
#[derive(Debug)]
enum OpeningTools {
    /// Those of the log that it is brought back from or forked off; none for a new one.
    OfLog(ResumedTools),
    Brought(Vec<DynamicTool>),
}

/// Why there is no thread.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// What the session, or whoever configures it, said.
    #[error("{message}")]
    Refused {
        message: String,
        info: Option<ErrorInfo>,
    },
    #[error("the session ended while it was opened")]
    Ended,
    #[error("{open} threads are in use, and no more may be; let go of one first")]
    Full { open: usize },
    #[error("the server is ending")]
    Ending,
}

impl OpenError {
    /// Tells whether the thread that was named is not there.
    pub fn is_not_found(&self) -> bool {
        match self {
            Self::Refused { info, .. } => *info == Some(ErrorInfo::NotFound),
            Self::Ended | Self::Full { .. } | Self::Ending => false,
        }
    }
}

impl SessionPool {
    pub fn new(ground: Arc<dyn SessionFactory>) -> Self {
        let (asks, inbox) = mpsc::channel(HOUSE_REQUESTS_QUEUED_MAX);
        // Ends when every handle is gone.
        tokio::spawn(PoolActor::new(Arc::clone(&ground)).run(inbox));
        Self {
            asks,
            ground,
            kept_tools: ResumedTools::Left,
        }
    }

    /// Returns the same pool for clients that run tools: a thread that is brought back, or
    /// forked off another, offers those that the log knows.
    #[must_use]
    pub fn for_tool_clients(self) -> Self {
        Self {
            kept_tools: ResumedTools::Offered,
            ..self
        }
    }

    /// Returns the programs that a session may be run by in the place of a model.
    pub fn backends(&self) -> Vec<String> {
        let grove = self.ground.grove();
        grove.configurator.options().catalogue.backends()
    }

    /// Returns who knows the prompts that people call by name.
    pub fn commands(&self) -> Option<Arc<dyn PromptCommandLibrary>> {
        self.ground.commands()
    }

    /// Opens a new thread.
    pub async fn start(&self, request: ConfigureSession) -> Result<RootSession, OpenError> {
        self.start_with(request, Vec::new()).await
    }

    /// Opens a new thread with tools that its clients run.
    pub async fn start_with(
        &self,
        request: ConfigureSession,
        tools: Vec<DynamicTool>,
    ) -> Result<RootSession, OpenError> {
        let request = ConfigureSession {
            resume: None,
            fork: None,
            ..request
        };
        let tools = OpeningTools::Brought(tools);
        let opening = Box::new(SessionOpening { request, tools });
        self.open(|reply| PoolRequest::Begin { opening, reply })
            .await
    }

    /// Returns the thread of a session: the one in memory as it is, else the stored one with
    /// the wishes of the request.
    pub async fn resume(
        &self,
        id: SessionId,
        request: ConfigureSession,
    ) -> Result<RootSession, OpenError> {
        let opening = self.of_log(ConfigureSession {
            resume: Some(id),
            fork: None,
            ..request
        });
        self.open(|reply| PoolRequest::Resume { id, opening, reply })
            .await
    }

    /// Opens a new thread with the history of another session, which may be running.
    pub async fn fork(
        &self,
        point: ForkPoint,
        request: ConfigureSession,
    ) -> Result<RootSession, OpenError> {
        let opening = self.of_log(ConfigureSession {
            resume: None,
            fork: Some(point),
            ..request
        });
        self.open(|reply| PoolRequest::Begin { opening, reply })
            .await
    }

    fn of_log(&self, request: ConfigureSession) -> Box<SessionOpening> {
        let tools = OpeningTools::OfLog(self.kept_tools);
        Box::new(SessionOpening { request, tools })
    }

    /// Returns a thread that is in memory.
    pub async fn get(&self, id: SessionId) -> Option<RootSession> {
        self.ask(|reply| PoolRequest::Get { id, reply })
            .await
            .flatten()
    }

    /// Returns the threads that are in memory, in the order of their ids.
    pub async fn loaded(&self) -> Vec<RootSession> {
        let threads = self.ask(|reply| PoolRequest::Loaded { reply }).await;
        threads.unwrap_or_default()
    }

    /// Ends the session of a thread in an orderly way, whatever it does and whoever holds it.
    /// Returns when its log is free.
    pub async fn unload(&self, id: SessionId) {
        // A pool that has ended has unloaded everything.
        self.ask(|done| PoolRequest::Unload { id, done }).await;
    }

    /// Ends every thread in an orderly way, and takes no more. Returns when nothing is left.
    pub async fn end(&self) {
        self.ask(|done| PoolRequest::End { done }).await;
    }

    /// Returns where conversations are kept.
    pub fn store(&self) -> Result<Arc<dyn SessionStore>, String> {
        self.ground.store()
    }

    async fn open(
        &self,
        ask: impl FnOnce(oneshot::Sender<Result<RootSession, OpenError>>) -> PoolRequest,
    ) -> Result<RootSession, OpenError> {
        self.ask(ask).await.unwrap_or(Err(OpenError::Ending))
    }

    async fn ask<T>(&self, ask: impl FnOnce(oneshot::Sender<T>) -> PoolRequest) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(ask(reply)).await.ok()?;
        answer.await.ok()
    }
}
