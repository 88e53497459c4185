//! The names that the lists of a role can mean.
//!
//! An entry of a deny list that means nothing looks like a lock and is none, and one of an
//! allow list takes everything else away. So a role is refused for a tool or a server that
//! nobody knows. The tools of a server are known once it runs, or if its configuration lists
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
    fn servers(&self) -> Vec<String>;

    /// The tools of a server, by the names that models call them by; `None` as long as that is
    /// not known.
    fn tools(&self, server: &str) -> Option<Vec<String>>;

    /// The programs that a child can be.
    fn backends(&self) -> Vec<String>;
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
    // An agent of Claude Code was held to the names when it was read. Its servers need not be here.
    if role.dialect == RoleDialect::ClaudeCode {
        return Ok(());
    }
    let servers = names.map(known_servers);
    let servers = servers.as_deref();
    let allow = role.tools.allow.as_deref().unwrap_or_default();
    let lists = [("allow_list", allow), ("deny_list", &role.tools.deny)];
    for (key, patterns) in lists {
        let unknown = patterns.iter().find(|entry| !is_known(entry, servers));
        if let Some(entry) = unknown {
            let of_servers = tools_of_servers(servers);
            let (what, known) = if entry.as_str().starts_with(SERVER_TOOL_PREFIX) {
                ("tool of a configured MCP server", of_servers)
            } else {
                let own = own_tools().map(str::to_owned);
                ("tool", own.chain(of_servers).collect())
            };
            return Err(refused(role, key, what, entry.as_str(), &known));
        }
    }
    let Some(known) = servers else {
        return Ok(());
    };
    let wanted = role.mcp_servers.as_deref().unwrap_or_default();
    let known: Vec<String> = known.iter().map(|server| server.name.clone()).collect();
    match wanted.iter().find(|server| !known.contains(server)) {
        None => Ok(()),
        Some(server) => {
            let what = "configured MCP server";
            Err(refused(role, "mcp_servers", what, server, &known))
        }
    }
}

/// A server, and by which names its tools are called.
struct KnownServer {
    name: String,
    /// By which the names of its tools begin.
    prefix: String,
    /// `None` as long as they are not known.
    tools: Option<Vec<String>>,
}

fn known_servers(names: &Arc<dyn ServerNames>) -> Vec<KnownServer> {
    let servers = names.servers().into_iter();
    let known = servers.map(|name| KnownServer {
        prefix: server_prefix(&name),
        tools: names.tools(&name),
        name,
    });
    known.collect()
}

impl KnownServer {
    /// Tells whether an entry means a tool that the server has, or may have, or all of them.
    fn may_be_meant(&self, entry: &ToolPattern) -> bool {
        let has_it = |tools: &Vec<String>| tools.iter().any(|tool| entry.matches(tool));
        entry.matches_some_beginning(&self.prefix)
            && (entry.matches(&self.prefix) || self.tools.as_ref().is_none_or(has_it))
    }
}

fn is_known(entry: &ToolPattern, servers: Option<&[KnownServer]>) -> bool {
    if own_tools().any(|tool| entry.matches(tool)) {
        return true;
    }
    let Some(servers) = servers else {
        return entry.matches_some_beginning(SERVER_TOOL_PREFIX);
    };
    // `mcp__*` names no server: it means all, also where there are none.
    let of_any_server = || {
        let server = entry.as_str().strip_prefix(SERVER_TOOL_PREFIX);
        servers.is_empty() && server.is_some_and(|server| server.starts_with('*'))
    };
    servers.iter().any(|server| server.may_be_meant(entry)) || of_any_server()
}

pub(super) fn own_tools() -> impl Iterator<Item = &'static str> {
    let families = TREE_TOOLS.into_iter();
    families.chain(BUILT_IN_TOOLS).chain(RESOURCE_TOOLS)
}

/// Each server stands for its tools; those that are known follow.
fn tools_of_servers(servers: Option<&[KnownServer]>) -> Vec<String> {
    let servers = servers.unwrap_or_default();
    let patterns = servers.iter().map(|server| format!("{}*", server.prefix));
    let tools = servers.iter().filter_map(|server| server.tools.as_ref());
    patterns.chain(tools.flatten().cloned()).collect()
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
