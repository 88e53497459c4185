//! What a root session is opened with, and the way to the tree that it may grow.

use std::sync::Arc;

use troupe_engine::{SessionConfigurator, SessionDeps};

use crate::configurator::AgentsConfigurator;
use crate::supervisor::TreeOptions;

/// Made for one root: a second session opened with it would share its tree.
#[derive(Debug)]
pub struct RootDeps {
    pub deps: SessionDeps,
    pub configurator: Arc<AgentsConfigurator>,
}

impl RootDeps {
    /// Adds a tree to what `deps` configure.
    pub fn new(deps: SessionDeps, options: TreeOptions) -> Self {
        let configurator = Arc::new(AgentsConfigurator::new(
            Arc::clone(&deps.configurator),
            options,
            deps.clock.clone(),
            deps.ids.clone(),
        ));
        let deps = SessionDeps {
            configurator: Arc::clone(&configurator) as Arc<dyn SessionConfigurator>,
            ..deps
        };
        Self { deps, configurator }
    }
}
