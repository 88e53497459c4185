//! Tells of trees that begin to grow, for whoever opens them to other programs. A session
//! without children is never told of, so it pays for no such opening.

use std::sync::{Arc, Weak};

use tokio::sync::watch;
use troupe_protocol::SessionId;

use super::handle::{SharedTree, TreeHandle};

/// The side of the trees. Clones tell the same listeners.
#[derive(Debug, Clone)]
pub(crate) struct NewTreeSender(watch::Sender<Option<NewTree>>);

/// The side of the listener. One that is slow misses a tree only if a newer one took its
/// place.
#[derive(Debug)]
pub struct NewTrees(watch::Receiver<Option<NewTree>>);

/// Does not keep the tree: it ends with its session.
#[derive(Debug, Clone)]
struct NewTree {
    root: SessionId,
    tree: Weak<SharedTree>,
}

impl NewTreeSender {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    pub(crate) fn listen(&self) -> NewTrees {
        NewTrees(self.0.subscribe())
    }

    pub(super) fn tell(&self, root: SessionId, tree: &Arc<SharedTree>) {
        let tree = Arc::downgrade(tree);
        self.0.send_replace(Some(NewTree { root, tree }));
    }
}

impl NewTrees {
    /// Returns the next tree and the session of its root; `None` when there will be none.
    /// Safe to cancel.
    pub async fn next(&mut self) -> Option<(SessionId, TreeHandle)> {
        loop {
            self.0.changed().await.ok()?;
            let newest = self.0.borrow_and_update().clone();
            let found = newest.and_then(|planting| Some((planting.root, planting.tree.upgrade()?)));
            if let Some((root, tree)) = found {
                return Some((root, tree.agents()));
            }
        }
    }
}
