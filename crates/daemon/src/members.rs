//! Finds the session that a path names, the tree that it belongs to, and who has it.

use troupe_agents::TreeAccess;
use troupe_agents::tree_access::AgentView;
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::{AgentId, SessionId};
use troupe_server::{OpenError, RootSession};
use troupe_store::StoreError;

use crate::daemon::Daemon;
use crate::problem::Problem;

/// A session and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundSession {
    pub session: SessionId,
    /// Of its tree; the session itself if it is nobody's child.
    pub root: SessionId,
}

impl FoundSession {
    pub(crate) fn of_root(root: SessionId) -> Self {
        let session = root;
        Self { session, root }
    }

    pub(crate) fn is_root(self) -> bool {
        self.session == self.root
    }

    /// Returns the address by which its tree knows it.
    pub(crate) fn address(self) -> String {
        self.session.to_string()
    }
}

impl Daemon {
    /// Finds a session by its id, a unique beginning of it, or its name.
    pub(crate) async fn find(&self, text: &str) -> Result<FoundSession, Problem> {
        let store = self.store()?;
        let session = match (store.resolve(text).await, text.parse()) {
            (Ok(session), _) => session,
            // A child that waits for a slot has no log yet, but its tree knows it.
            (Err(error @ StoreError::NotFound { .. }), Ok(session)) => {
                let root = self.pool().root_of(session).await?;
                let root = root.ok_or(error)?;
                return Ok(FoundSession { session, root });
            }
            (Err(error), _) => return Err(error.into()),
        };
        let root = self.pool().root_of(session).await?.unwrap_or(session);
        Ok(FoundSession { session, root })
    }

    /// Tells whether a process works with a tree: whoever does has the log of its root.
    pub(crate) async fn is_held(&self, found: FoundSession) -> Result<bool, Problem> {
        match self.store()?.is_held(found.root).await {
            Ok(held) => Ok(held),
            // A root whose log is gone is nobody's.
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the root of a tree that is in memory.
    pub(crate) async fn loaded(&self, found: FoundSession) -> Option<RootSession> {
        let thread = self.pool().get(found.root).await?;
        (!thread.is_over()).then_some(thread)
    }

    /// Returns the root of a tree, which is brought into memory if it is not there. One that
    /// another process works with is refused with the name of that process.
    pub(crate) async fn open(&self, found: FoundSession) -> Result<RootSession, Problem> {
        let opened = self.pool().resume(found.root, ConfigureSession::default());
        match opened.await {
            Ok(thread) => {
                self.note_root(found.root)?;
                Ok(thread)
            }
            Err(error @ OpenError::Refused { .. }) if self.is_held(found).await? => {
                Err(Problem::conflict("held_elsewhere", error.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The place of the user at a tree: clients of the daemon act in the user's name.
pub(crate) fn user(thread: &RootSession) -> TreeAccess {
    thread.agents().user()
}

/// Returns how the root stands; its tree begins with that.
pub(crate) async fn root_view(thread: &RootSession) -> Result<AgentView, Problem> {
    Ok(user(thread).view(&AgentId::ROOT.to_string()).await?)
}
