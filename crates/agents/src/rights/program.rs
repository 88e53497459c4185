//! A child that is another program: what of its rights we can hold it to.

use troupe_protocol::policy::{SandboxMode, SandboxPolicy};
use troupe_protocol::spawn::ToolLists;

use super::sandbox::mode_name;
use crate::tree_access::TreeError;

/// The tools of the tree. A program has none of them, so a role may deny them to it.
pub(crate) const TREE_TOOLS: [&str; 22] = [
    "agent_result",
    "cancel_agent",
    "cancel_session",
    "close_agent",
    "create_session",
    "list_active_agents",
    "list_agents",
    "resume_agent",
    "send_input",
    "set_thread_note",
    "spawn_agent",
    "subagent_await",
    "subagent_cancel",
    "subagent_fork",
    "subagent_list",
    "subagent_logs",
    "subagent_prune",
    "subagent_send_message",
    "subagent_spawn",
    "subagent_watchdog",
    "wait",
    "wait_session",
];

/// Refuses a program where a role's lists would have to be kept by it: its tools are its own,
/// and only the kernel stands between them and the machine.
pub(super) fn check(
    backend: &str,
    tools: &[ToolLists],
    sandbox: &SandboxPolicy,
) -> Result<(), TreeError> {
    let mut unkept = Vec::new();
    for list in tools {
        let denied: Vec<&str> = list
            .deny
            .iter()
            .map(String::as_str)
            .filter(|pattern| !is_kept(pattern, sandbox))
            .collect();
        if !denied.is_empty() {
            unkept.push(format!("deny_list: {}", denied.join(", ")));
        }
        if let Some(allow) = &list.allow {
            unkept.push(format!("allow_list: {}", allow.join(", ")));
        }
        if let Some(servers) = &list.mcp_servers {
            unkept.push(format!("mcp_servers: {}", servers.join(", ")));
        }
    }
    if unkept.is_empty() {
        return Ok(());
    }
    Err(TreeError::Invalid(format!(
        "backend {backend} is a program with tools of its own, which cannot be kept to the lists \
         that hold for this child ({}); leave backend out, or use a role without these lists \
         below an agent that has none",
        unkept.join("; ")
    )))
}

/// Tells whether a denied tool is out of the program's reach all the same.
fn is_kept(pattern: &str, sandbox: &SandboxPolicy) -> bool {
    let is_tree = TREE_TOOLS.contains(&pattern) || pattern.starts_with("subagent_");
    // What it could do is to write, and the kernel does not let a reader.
    let is_edit = pattern == "apply_patch" && sandbox.mode() == SandboxMode::ReadOnly;
    is_tree || is_edit
}

/// Says what the user's configuration of the program changes about the child's sandbox.
pub(super) fn explain(
    backend: &str,
    child: &SandboxPolicy,
    program: &SandboxPolicy,
    why: &mut Vec<String>,
) {
    let by = format!("[backends.{backend}] in the configuration");
    match (child.network_access(), program.network_access()) {
        (false, true) => why.push(format!(
            "network: {by} grants it, though sandbox {} is without it here",
            mode_name(child.mode())
        )),
        (true, false) => why.push(format!("no network: {by} takes it away")),
        (true, true) | (false, false) => {}
    }
    let added: Vec<String> = roots(program)
        .iter()
        .filter(|root| !roots(child).contains(root))
        .map(|root| root.display().to_string())
        .collect();
    if !added.is_empty() {
        why.push(format!("may write in {}: {by} grants it", added.join(", ")));
    }
}

fn roots(policy: &SandboxPolicy) -> &[std::path::PathBuf] {
    match policy {
        SandboxPolicy::WorkspaceWrite { writable_roots, .. } => writable_roots,
        SandboxPolicy::DangerFullAccess | SandboxPolicy::ReadOnly { .. } => &[],
    }
}
