//! The MCP servers of a directory, as its configuration has them at the moment.

use std::collections::BTreeMap;
use std::path::PathBuf;

use troupe_config::KeyPath;
use troupe_mcp::{ServerConfig, ServerList};

use crate::failure::CommandFailure;
use crate::layers::ConfigSource;
use crate::settings::IntegrationSettings;

#[derive(Debug)]
pub(super) struct ConfiguredServers {
    source: ConfigSource,
    cwd: PathBuf,
}

impl ConfiguredServers {
    pub(super) fn new(source: ConfigSource, cwd: PathBuf) -> Self {
        Self { source, cwd }
    }

    fn look(&self) -> Result<BTreeMap<String, ServerConfig>, CommandFailure> {
        let loaded = self.source.load(&self.cwd)?;
        let settings: IntegrationSettings = loaded.config.get(&KeyPath::root())?;
        Ok(settings.mcp_servers)
    }
}

impl ServerList for ConfiguredServers {
    fn read(&self) -> Result<BTreeMap<String, ServerConfig>, String> {
        self.look().map_err(|failure| failure.to_string())
    }
}
