//! The names that the lists of a role can mean.
//!
//! An entry of a deny list that means nothing looks like a lock and is none, and one of an
//! allow list takes everything else away. So a role is refused for a tool or a server that
//! nobody knows. The tools of a server are known once it runs, or when its configuration lists
//! them; until then its own name is what an entry is held to.

use std::fmt;
use std::sync::Arc;

use troupe_config::nearest;
use troupe_tools::{BUILT_IN_TOOLS, server_prefix};

use super::error::{RoleError, UnknownName};
use super::role::{AgentRole, RoleDialect};
use super::tool_policy::ToolPattern;
use crate::rights::program::TREE_TOOLS;

/// By which the names of all tools of all servers begin.
const SERVER_TOOL_PREFIX: &str = "mcp__";

/// The tools that come with any server. `mcp` says what they do.
const RESOURCE_TOOLS: [&str; 3] = [
    "list_mcp_resources",
    "list_mcp_resource_templates",
    "read_mcp_resource",
];

/// Who knows which servers of tools, and which programs, are configured now.
pub trait ServerNames: Send + Sync + fmt::Debug {
    fn servers(&self) -> Vec<KnownServer>;

    /// The programs that a child can be.
    fn backends(&self) -> Vec<String>;
}

/// A server of tools that a role may name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownServer {
    pub name: String,
    /// The names that models call its tools by; `None` until somebody knows them.
    pub tools: Option<Vec<String>>,
}

impl KnownServer {
    /// Tells whether an entry can mean a tool of this server. One that means all of them does,
    /// whichever there are.
    fn has(&self, entry: &ToolPattern) -> bool {
        let prefix = server_prefix(&self.name);
        match &self.tools {
            None => entry.matches_some_beginning(&prefix),
            Some(tools) => {
                entry.matches(&format!("{prefix}*")) || tools.iter().any(|tool| entry.matches(tool))
            }
        }
    }

    /// What is suggested in the place of a name that nobody knows.
    fn entries(&self) -> Vec<String> {
        let all = format!("{}*", server_prefix(&self.name));
        let tools = self.tools.iter().flatten().cloned();
        std::iter::once(all).chain(tools).collect()
    }
}

/// Refuses a role that names a tool, a server or a program which nobody knows. Without `names`
/// nothing is known about the last two, and no name of one is doubted.
pub(super) fn check(
    role: &AgentRole,
    names: Option<&Arc<dyn ServerNames>>,
) -> Result<(), RoleError> {
    if let (Some(names), Some(backend)) = (names, &role.backend) {
        let known = names.backends();
        if !known.contains(backend) {
            let what = "configured backend";
            return Err(refused(role, "backend", what, backend, &known));
        }
    }
    let servers = names.map(|names| names.servers());
    let servers = servers.as_deref();
    let allow = role.tools.allow.as_deref().unwrap_or_default();
    // An agent of Claude Code was held to the names when it was read. Its servers need not be
    // here; the tools of those that are count.
    let is_theirs = role.dialect == RoleDialect::ClaudeCode;
    let lists = if is_theirs {
        [("tools", allow), ("disallowedTools", &role.tools.deny)]
    } else {
        [("allow_list", allow), ("deny_list", &role.tools.deny)]
    };
    let is_doubted = |entry: &&ToolPattern| !is_theirs || names_one_of(servers, entry);
    for (key, patterns) in lists {
        let mut doubted = patterns.iter().filter(is_doubted);
        if let Some(entry) = doubted.find(|entry| !is_known(entry, servers)) {
            let of_servers = entries_of_servers(servers);
            let (what, known) = if entry.as_str().starts_with(SERVER_TOOL_PREFIX) {
                ("tool of a configured MCP server", of_servers)
            } else {
                let own = own_tools().map(str::to_owned);
                ("tool", own.chain(of_servers).collect())
            };
            return Err(refused(role, key, what, entry.as_str(), &known));
        }
    }
    let Some(known) = servers.filter(|_| !is_theirs) else {
        return Ok(());
    };
    let known: Vec<String> = known.iter().map(|server| server.name.clone()).collect();
    let wanted = role.mcp_servers.as_deref().unwrap_or_default();
    match wanted.iter().find(|server| !known.contains(server)) {
        None => Ok(()),
        Some(server) => {
            let what = "configured MCP server";
            Err(refused(role, "mcp_servers", what, server, &known))
        }
    }
}

/// Tells whether an entry is about a server that is here.
fn names_one_of(servers: Option<&[KnownServer]>, entry: &ToolPattern) -> bool {
    let mut servers = servers.unwrap_or_default().iter();
    servers.any(|server| entry.as_str().starts_with(&server_prefix(&server.name)))
}

fn is_known(entry: &ToolPattern, servers: Option<&[KnownServer]>) -> bool {
    if own_tools().any(|tool| entry.matches(tool)) {
        return true;
    }
    let Some(servers) = servers else {
        return entry.matches_some_beginning(SERVER_TOOL_PREFIX);
    };
    let Some(rest) = entry.as_str().strip_prefix(SERVER_TOOL_PREFIX) else {
        return servers.iter().any(|server| server.has(entry));
    };
    // `mcp__*` means all servers, and `mcp__*__wipe` a tool of any: also where there are none.
    let is_of_any =
        rest.starts_with('*') && (servers.is_empty() || rest.trim_matches('*').is_empty());
    is_of_any || servers.iter().any(|server| server.has(entry))
}

pub(super) fn own_tools() -> impl Iterator<Item = &'static str> {
    let families = TREE_TOOLS.into_iter();
    families.chain(BUILT_IN_TOOLS).chain(RESOURCE_TOOLS)
}

fn entries_of_servers(servers: Option<&[KnownServer]>) -> Vec<String> {
    let servers = servers.unwrap_or_default().iter();
    servers.flat_map(KnownServer::entries).collect()
}

fn refused(
    role: &AgentRole,
    key: &'static str,
    what: &'static str,
    name: &str,
    known: &[String],
) -> RoleError {
    RoleError::UnknownName(Box::new(UnknownName {
        origin: role.origin.clone(),
        key,
        what,
        name: name.to_owned(),
        nearest: near(name, known),
        known: known.to_vec(),
    }))
}

/// A slip in the name of a server is looked for apart from the tool, which may be long.
fn near(name: &str, known: &[String]) -> Option<String> {
    let whole = nearest(name, known.iter().map(String::as_str));
    let of_server = || {
        let end = name.strip_prefix(SERVER_TOOL_PREFIX)?.find("__")?;
        let prefix = &name[..SERVER_TOOL_PREFIX.len() + end + "__".len()];
        let prefixes = known.iter().filter_map(|known| known.strip_suffix('*'));
        nearest(prefix, prefixes).map(|near| format!("{near}{}", &name[prefix.len()..]))
    };
    whole.map(str::to_owned).or_else(of_server)
}

#[cfg(test)]
mod tests;
