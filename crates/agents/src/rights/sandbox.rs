//! How far a child's commands reach.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use troupe_process::intersect;
use troupe_protocol::policy::{CollaborationMode, SandboxMode, SandboxPolicy};

use super::ParentRights;
use crate::roles::AgentRole;
use crate::tree_access::{SpawnRequest, TreeError};

pub(super) fn settle(
    role: &AgentRole,
    request: &SpawnRequest,
    why: &mut Vec<String>,
) -> Result<SandboxPolicy, TreeError> {
    let turn = &request.turn;
    let has = turn.sandbox_policy.mode();
    let asked = request.sandbox.unwrap_or(has);
    if asked > has {
        return Err(TreeError::WiderSandbox {
            asked: mode_name(asked),
            has: mode_name(has),
        });
    }
    // The same mode is no narrower than what the parent has of it: its roots, its network.
    let mut policy = turn.sandbox_policy.clone();
    if asked < has {
        policy = both(&policy, &standard(asked), &turn.cwd);
    }
    if let Some(most) = role.sandbox() {
        if most.mode() < policy.mode() {
            why.push(format!(
                "sandbox {}: the role {} may not write",
                mode_name(most.mode()),
                role.name
            ));
        }
        policy = both(&policy, &most, &turn.cwd);
    }
    if turn.collaboration_mode == CollaborationMode::Plan {
        if policy.mode() > SandboxMode::ReadOnly {
            why.push("sandbox read-only: this turn plans, and changes nothing".to_owned());
        }
        policy = both(&policy, &SandboxPolicy::read_only(), &turn.cwd);
    }
    if turn.sandbox_policy.network_access() && !policy.network_access() {
        why.push(format!(
            "no network: sandbox {} is without it",
            mode_name(policy.mode())
        ));
    }
    Ok(match &request.working_directory {
        Some(directory) => moved(policy, &turn.cwd, directory, why),
        None => ungranted(policy, &turn.cwd),
    })
}

/// Returns why nothing leaves the child's sandbox. Who narrowed it meant it: a yes to a single
/// command, given without that in mind, must not undo it.
pub(super) fn held(
    parent: &ParentRights,
    role: &AgentRole,
    request: &SpawnRequest,
) -> Option<String> {
    let inherited = parent.spec.as_ref();
    let inherited = inherited.and_then(|spec| spec.sandbox_held.clone());
    let by_role = || {
        let most = role.sandbox()?;
        let mode = mode_name(most.mode());
        Some(format!("the role {} is {mode}", role.name))
    };
    let by_request = || {
        let asked = request.sandbox?;
        let is_narrower = asked < request.turn.sandbox_policy.mode();
        is_narrower.then(|| {
            let mode = mode_name(asked);
            format!("the agent was made with sandbox_mode {mode}")
        })
    };
    let by_plan = || match request.turn.collaboration_mode {
        CollaborationMode::Plan => Some("the agent was made while its caller planned".to_owned()),
        CollaborationMode::Default => None,
    };
    inherited
        .or_else(by_role)
        .or_else(by_request)
        .or_else(by_plan)
}

/// What the child may do stays what it was seen from its parent's directory. Its own is
/// added, as a person granted it, to one that may write; no other right comes with it.
fn moved(policy: SandboxPolicy, from: &Path, to: &Path, why: &mut Vec<String>) -> SandboxPolicy {
    match policy {
        SandboxPolicy::DangerFullAccess => policy,
        SandboxPolicy::ReadOnly { .. } => {
            why.push(format!("{} is only read: sandbox read-only", to.display()));
            policy
        }
        SandboxPolicy::WorkspaceWrite {
            writable_roots,
            network_access,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
        } => {
            why.push(format!("may write in {}: granted", to.display()));
            // A relative root would mean another directory from where the child works.
            let inherited = writable_roots.iter().map(|root| from.join(root));
            let roots = [to.to_path_buf(), from.to_path_buf()];
            let mut writable_roots: Vec<PathBuf> = Vec::new();
            for root in roots.into_iter().chain(inherited) {
                if !writable_roots.contains(&root) {
                    writable_roots.push(root);
                }
            }
            SandboxPolicy::WorkspaceWrite {
                writable_roots,
                network_access,
                exclude_tmpdir_env_var,
                exclude_slash_tmp,
            }
        }
    }
}

/// Leaves the working directory out of the roots, which has it anyway: only a grant names it, and
/// what is left of a narrowed parent's rights may name it as well.
fn ungranted(mut policy: SandboxPolicy, cwd: &Path) -> SandboxPolicy {
    if let SandboxPolicy::WorkspaceWrite { writable_roots, .. } = &mut policy {
        writable_roots.retain(|root| root != cwd);
    }
    policy
}

/// Nobody's environment is looked at: whether `$TMPDIR` may be written is a flag on both
/// sides, and where it lies is known when a command runs.
fn both(left: &SandboxPolicy, right: &SandboxPolicy, cwd: &Path) -> SandboxPolicy {
    intersect(left, right, cwd, &BTreeMap::new())
}

fn standard(mode: SandboxMode) -> SandboxPolicy {
    match mode {
        SandboxMode::ReadOnly => SandboxPolicy::read_only(),
        SandboxMode::WorkspaceWrite => SandboxPolicy::workspace_write(),
        SandboxMode::DangerFullAccess => SandboxPolicy::DangerFullAccess,
    }
}

pub(super) fn mode_name(mode: SandboxMode) -> &'static str {
    match mode {
        SandboxMode::ReadOnly => "read-only",
        SandboxMode::WorkspaceWrite => "workspace-write",
        SandboxMode::DangerFullAccess => "danger-full-access",
    }
}
