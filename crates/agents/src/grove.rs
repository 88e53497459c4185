//! The dependencies of a root session, and the handle of the tree that it may start.

use std::sync::Arc;

use troupe_engine::{Configurator, Deps};

use crate::configurator::AgentsConfigurator;
use crate::supervisor::Options;

/// Made for one root: a second session opened with it would share its tree.
#[derive(Debug)]
pub struct Grove {
    pub deps: Deps,
    pub configurator: Arc<AgentsConfigurator>,
}

impl Grove {
    /// Adds a tree to what `deps` configure.
    pub fn new(deps: Deps, options: Options) -> Self {
        let configurator = Arc::new(AgentsConfigurator::new(
            Arc::clone(&deps.configurator),
            options,
            deps.clock.clone(),
            deps.ids.clone(),
        ));
        let deps = Deps {
            configurator: Arc::clone(&configurator) as Arc<dyn Configurator>,
            ..deps
        };
        Self { deps, configurator }
    }
}
