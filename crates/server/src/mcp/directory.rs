//! Finds the session that a text means, and the tree that it belongs to.

use std::sync::Arc;

use troupe_agents::TreeAccess;
use troupe_protocol::SessionId;
use troupe_protocol::op::ConfigureSession;
use troupe_store::{SessionStore, StoreError};

use super::error::SessionToolError;
use super::session_tools::SessionTools;
use crate::session_pool::RootSession;

/// A session and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FoundSession {
    pub session: SessionId,
    /// Of its tree; the session itself if it is nobody's child.
    pub root: SessionId,
}

impl FoundSession {
    pub(super) fn is_root(self) -> bool {
        self.session == self.root
    }

    /// Returns the address that desks of its tree know it by.
    pub(super) fn address(self) -> String {
        self.session.to_string()
    }
}

impl SessionTools {
    pub(super) fn store(&self) -> Result<Arc<dyn SessionStore>, SessionToolError> {
        self.house.store().map_err(SessionToolError::NoStore)
    }

    pub(super) async fn find(&self, text: &str) -> Result<FoundSession, SessionToolError> {
        let store = self.store()?;
        let session = match (store.resolve(text).await, text.parse()) {
            (Ok(session), _) => session,
            // A child that waits for a slot has no log yet, but its tree knows it.
            (Err(error @ StoreError::NotFound { .. }), Ok(session)) => {
                let root = self.house.root_of(session).await?;
                let root = root.ok_or(error)?;
                return Ok(FoundSession { session, root });
            }
            (Err(error), _) => return Err(error.into()),
        };
        let root = self.house.root_of(session).await?;
        let root = root.unwrap_or(session);
        Ok(FoundSession { session, root })
    }

    /// Tells whether a process works with a tree: whoever does has the log of its root.
    pub(super) async fn is_held(&self, found: FoundSession) -> Result<bool, SessionToolError> {
        match self.store()?.is_held(found.root).await {
            Ok(held) => Ok(held),
            // A root whose log is gone is nobody's.
            Err(StoreError::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the thread of a tree that is in memory.
    pub(super) async fn loaded(&self, found: FoundSession) -> Option<RootSession> {
        let thread = self.house.get(found.root).await?;
        (!thread.is_over()).then_some(thread)
    }

    /// Returns the thread of a tree, which is brought into memory if it is not there.
    pub(super) async fn open(&self, found: FoundSession) -> Result<RootSession, SessionToolError> {
        let request = ConfigureSession::default();
        Ok(self.house.resume(found.root, request).await?)
    }
}

/// The place of the user at the tree of a thread: whoever calls acts in the user's name.
pub(super) fn desk(thread: &RootSession) -> TreeAccess {
    thread.agents().user()
}
