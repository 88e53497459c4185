//! Adds the agent tree to what sessions are opened with.

use std::path::PathBuf;
use std::sync::Arc;

use troupe_agents::roles::RoleLibrary;
use troupe_agents::{RecoveryPolicy, RootDeps, SettingsReader, TreeOptions, TreeSettings};
use troupe_config::KeyPath;
use troupe_engine::{ConfigureError, SessionDeps};
use troupe_protocol::op::ConfigureSession;

use crate::home::user_home;
use crate::layers::ConfigSource;
use crate::wiring::offers::SpawnOffers;
use crate::wiring::role_servers::SessionServers;
use crate::wiring::{PreparedDirectory, Wiring, with_config};

impl Wiring {
    /// Goes over to a tree of sessions. `recovery` is what was asked for beside the
    /// configuration.
    pub fn with_agents(self: &Arc<Self>, recovery: Option<RecoveryPolicy>) -> RootDeps {
        let options = self.tree_options(recovery);
        RootDeps::new(SessionDeps::new(Arc::clone(self) as _), options)
    }

    pub(super) fn tree_options(&self, recovery: Option<RecoveryPolicy>) -> TreeOptions {
        let settings = &self.here().settings;
        TreeOptions {
            limits: settings.agents.limits(),
            families: settings.agents.families().to_vec(),
            roles: Arc::new(
                RoleLibrary::new(self.source.home.path())
                    .with_user_home(user_home())
                    .with_servers(Arc::new(SessionServers {
                        here: Arc::clone(&self.here),
                        hub: Arc::clone(self.hub()),
                    })),
            ),
            catalogue: Arc::new(SpawnOffers::new(
                Arc::clone(&self.here),
                Arc::clone(&self.models),
            )),
            callback: settings.agents.callback.clone(),
            callback_asked: self.here().callback_asked(),
            recovery: recovery.unwrap_or_else(|| settings.agents.recovery()),
            types: settings.agents.types(),
            reader: Some(Arc::new(SessionTrees {
                source: self.source.clone(),
                cwd: self.here().cwd.clone(),
                recovery,
            })),
        }
    }
}

/// Reads what a session says of its tree in the `config` that it is configured with.
#[derive(Debug)]
struct SessionTrees {
    source: ConfigSource,
    cwd: PathBuf,
    recovery: Option<RecoveryPolicy>,
}

impl SettingsReader for SessionTrees {
    fn read(
        &self,
        request: &ConfigureSession,
        enabled: Option<bool>,
    ) -> Result<TreeSettings, ConfigureError> {
        let cwd = request.overrides.cwd.as_deref().unwrap_or(&self.cwd);
        let prepared = with_config(&self.source, &request.config)
            .and_then(|source| PreparedDirectory::read(&source, cwd))
            .map_err(|failure| ConfigureError::refused(failure.to_string()))?;
        // What is said now counts, and else what the session said before.
        let enabled =
            enabled.filter(|_| !prepared.asks_for_exactly(&KeyPath::from(["agents", "enabled"])));
        let agents = &prepared.settings.agents;
        Ok(match enabled {
            None => agents.tree(self.recovery),
            Some(enabled) => agents.clone().enabled(enabled).tree(self.recovery),
        })
    }
}
