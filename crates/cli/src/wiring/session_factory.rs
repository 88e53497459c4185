//! The session factory: dependencies of every root session of a process that runs many.

use std::sync::Arc;

use troupe_agents::{AgentsConfigurator, RecoveryPolicy, RootDeps, TreeOptions};
use troupe_engine::SessionDeps;
use troupe_server::{AttachableRoot, PromptCommandLibrary, SessionFactory, TreeSource};
use troupe_store::SessionStore;

use super::Wiring;
use crate::attach::{AttachPoint, offer_later};
use crate::control;

/// One wiring for all roots: they share store, launcher, servers, models, skills and roles.
#[derive(Debug)]
pub struct SharedSessionFactory {
    pub(super) wiring: Arc<Wiring>,
    options: TreeOptions,
}

impl Wiring {
    /// Goes over to many trees of sessions.
    pub fn into_ground(self) -> Arc<SharedSessionFactory> {
        self.into_ground_with(None)
    }

    /// As [`Self::into_ground`]; `recovery` is what was asked for beside `[agents]`.
    pub fn into_ground_with(self, recovery: Option<RecoveryPolicy>) -> Arc<SharedSessionFactory> {
        let options = self.tree_options(recovery);
        let wiring = Arc::new(self);
        Arc::new(SharedSessionFactory { wiring, options })
    }
}

impl SessionFactory for SharedSessionFactory {
    fn grove(&self) -> RootDeps {
        let deps = SessionDeps::new(Arc::clone(&self.wiring) as _);
        RootDeps::new(deps, self.options.clone())
    }

    /// Each tree is open to `troupe agents`, as that of a single session is.
    fn companion(&self, configurator: &AgentsConfigurator) -> Option<control::Guard> {
        let home = self.wiring.source.home.path();
        Some(control::serve(configurator, home, None))
    }

    fn commands(&self) -> Option<Arc<dyn PromptCommandLibrary>> {
        Some(Arc::clone(&self.wiring) as _)
    }

    fn opened(&self, root: AttachableRoot) {
        let home = self.wiring.source.home.path().to_owned();
        let AttachableRoot {
            id,
            handle,
            events,
            agents,
        } = root;
        let point = AttachPoint {
            session: id,
            handle,
            events,
            tree: TreeSource::Tree(agents),
            commands: Arc::clone(&self.wiring) as _,
        };
        // It ends with the session.
        let _offer = offer_later(home, point);
    }

    fn store(&self) -> Result<Arc<dyn SessionStore>, String> {
        self.wiring.store().map_err(|failure| failure.to_string())
    }
}
