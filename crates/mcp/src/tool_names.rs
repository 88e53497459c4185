//! Which tools of a server can be named before a session is offered them.

use std::collections::BTreeSet;

use crate::config::ServerConfig;
use crate::connection::ServerCatalogue;
use crate::name::names;

/// A server, and what models call its tools by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerToolNames {
    pub server: String,
    /// `None` if neither the configuration nor the server said which there are.
    pub tools: Option<BTreeSet<String>>,
}

impl ServerToolNames {
    /// What the configuration alone says.
    pub fn configured(server: &str, config: &ServerConfig) -> Self {
        Self {
            server: server.to_owned(),
            tools: config.named_tools().map(|tools| callable(server, tools)),
        }
    }

    /// What the configuration and a server that ran say. Of a list that was cut not all is known.
    pub(crate) fn listed(
        server: &str,
        config: &ServerConfig,
        catalogue: Option<&ServerCatalogue>,
    ) -> Self {
        let configured = Self::configured(server, config);
        let Some(catalogue) = catalogue.filter(|catalogue| !catalogue.is_cut) else {
            return configured;
        };
        let mut tools = callable(
            server,
            catalogue.tools.iter().map(|tool| tool.name.as_str()),
        );
        tools.extend(configured.tools.unwrap_or_default());
        Self {
            tools: Some(tools),
            ..configured
        }
    }

    /// Takes in another server of this name, which is only as well known as both are.
    pub fn join(&mut self, other: Self) {
        self.tools = match (self.tools.take(), other.tools) {
            (Some(tools), Some(others)) => Some(tools.into_iter().chain(others).collect()),
            (None, _) | (_, None) => None,
        };
    }
}

fn callable<'a>(server: &str, tools: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let pairs: Vec<(&str, &str)> = tools.map(|tool| (server, tool)).collect();
    names(&pairs).into_iter().collect()
}
