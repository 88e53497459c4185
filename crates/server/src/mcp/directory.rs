//! Finds the session that a text means, and the tree that it belongs to.

use std::sync::Arc;

use troupe_agents::Desk;
use troupe_protocol::SessionId;
use troupe_protocol::op::ConfigureSession;
use troupe_store::{Error, Store};

use super::orchestra::Orchestra;
use super::trouble::Trouble;
use crate::house::Thread;

/// A session and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub session: SessionId,
    /// Of its tree; the session itself if it is nobody's child.
    pub root: SessionId,
}

impl Found {
    pub(super) fn is_root(self) -> bool {
        self.session == self.root
    }

    /// Returns the address that desks of its tree know it by.
    pub(super) fn address(self) -> String {
        self.session.to_string()
    }
}

impl Orchestra {
    pub(super) fn store(&self) -> Result<Arc<dyn Store>, Trouble> {
        self.house.store().map_err(Trouble::NoStore)
    }

    pub(super) async fn find(&self, text: &str) -> Result<Found, Trouble> {
        let store = self.store()?;
        match store.resolve(text).await {
            Ok(session) => {
                let at = store.tree_of(session).await?;
                let root = at.map_or(session, |at| at.root);
                Ok(Found { session, root })
            }
            // A child that waits for a slot has no log yet, but its tree knows it.
            Err(error @ Error::NotFound { .. }) => match self.find_in_memory(text).await {
                Some(found) => Ok(found),
                None => Err(error.into()),
            },
            Err(error) => Err(error.into()),
        }
    }

    async fn find_in_memory(&self, text: &str) -> Option<Found> {
        let session: SessionId = text.parse().ok()?;
        for thread in self.house.loaded().await {
            if thread.id() == session || thread.agents().user().view(text).await.is_ok() {
                let root = thread.id();
                return Some(Found { session, root });
            }
        }
        None
    }

    /// Returns the thread of a tree that is in memory.
    pub(super) async fn loaded(&self, found: Found) -> Option<Thread> {
        let thread = self.house.get(found.root).await?;
        (!thread.is_over()).then_some(thread)
    }

    /// Returns the thread of a tree, which is brought into memory if it is not there.
    pub(super) async fn open(&self, found: Found) -> Result<Thread, Trouble> {
        let request = ConfigureSession::default();
        Ok(self.house.resume(found.root, request).await?)
    }
}

/// The place of the user at the tree of a thread: whoever calls acts in the user's name.
pub(super) fn desk(thread: &Thread) -> Desk {
    thread.agents().user()
}
