//! The session factory: dependencies of every root session of a process that runs many.

use std::sync::Arc;

use troupe_agents::{AgentsConfigurator, Grove, Options};
use troupe_engine::Deps;
use troupe_server::Ground;
use troupe_store::Store;

use super::Wiring;
use crate::control;

/// One wiring for all roots: they share store, launcher, servers, models, skills and roles.
#[derive(Debug)]
pub struct SharedGround {
    pub(super) wiring: Arc<Wiring>,
    options: Options,
}

impl Wiring {
    /// Goes over to many trees of sessions.
    pub fn into_ground(self) -> Arc<SharedGround> {
        let options = self.tree_options(None);
        let wiring = Arc::new(self);
        Arc::new(SharedGround { wiring, options })
    }
}

impl Ground for SharedGround {
    fn grove(&self) -> Grove {
        let deps = Deps::new(Arc::clone(&self.wiring) as _);
        Grove::new(deps, self.options.clone())
    }

    /// Each tree is open to `troupe agents`, as that of a single session is.
    fn companion(&self, configurator: &AgentsConfigurator) -> Option<control::Guard> {
        let home = self.wiring.source.home.path();
        Some(control::serve(configurator, home, None))
    }

    fn store(&self) -> Result<Arc<dyn Store>, String> {
        self.wiring.store().map_err(|failure| failure.to_string())
    }
}
