//! Adds the agent tree to what sessions are opened with.

use std::sync::Arc;

use troupe_agents::roles::Roles;
use troupe_agents::{Grove, Options, Recovery};
use troupe_engine::Deps;

use crate::wiring::Wiring;
use crate::wiring::offers::Offers;
use crate::wiring::role_servers::SessionServers;

impl Wiring {
    /// Goes over to a tree of sessions. `recovery` is what was asked for beside the
    /// configuration.
    pub fn with_agents(self, recovery: Option<Recovery>) -> Grove {
        let options = self.tree_options(recovery);
        Grove::new(Deps::new(Arc::new(self)), options)
    }

    pub(super) fn tree_options(&self, recovery: Option<Recovery>) -> Options {
        let settings = &self.here().settings;
        Options {
            limits: settings.agents.limits(),
            families: settings.agents.families().to_vec(),
            roles: Arc::new(Roles::new(self.source.home.path()).with_servers(Arc::new(
                SessionServers {
                    here: Arc::clone(&self.here),
                    hub: Arc::clone(self.hub()),
                },
            ))),
            catalogue: Arc::new(Offers::new(
                Arc::clone(&self.here),
                Arc::clone(&self.models),
            )),
            callback: settings.agents.callback.clone(),
            recovery: recovery.unwrap_or_else(|| settings.agents.recovery()),
        }
    }
}
