//! The intersection of two sandbox policies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use troupe_protocol::policy::SandboxPolicy;

use crate::roots::{WritableRoots, writable_roots};

/// Returns the widest policy that is no wider than either, both seen from the same working
/// directory and environment.
pub fn intersect(
    left: &SandboxPolicy,
    right: &SandboxPolicy,
    cwd: &Path,
    env: &BTreeMap<String, String>,
) -> SandboxPolicy {
    use SandboxPolicy::{DangerFullAccess, ReadOnly, WorkspaceWrite};
    let network_access = left.network_access() && right.network_access();
    match (left, right) {
        (DangerFullAccess, other) | (other, DangerFullAccess) => other.clone(),
        (ReadOnly { .. }, _) | (_, ReadOnly { .. }) => ReadOnly { network_access },
        (
            WorkspaceWrite {
                exclude_tmpdir_env_var: left_tmpdir,
                exclude_slash_tmp: left_tmp,
                ..
            },
            WorkspaceWrite {
                exclude_tmpdir_env_var: right_tmpdir,
                exclude_slash_tmp: right_tmp,
                ..
            },
        ) => {
            let with_roots = |writable_roots| WorkspaceWrite {
                writable_roots,
                network_access,
                exclude_tmpdir_env_var: *left_tmpdir || *right_tmpdir,
                exclude_slash_tmp: *left_tmp || *right_tmp,
            };
            let table = |policy: &SandboxPolicy| writable_roots(policy, cwd, env);
            let implied = table(&with_roots(Vec::new())).writable;
            let mut roots = common_roots(&table(left), &table(right));
            roots.retain(|root| !implied.contains(root));
            with_roots(roots)
        }
    }
}

/// The deeper of each pair of roots of which one contains the other. One that lies in what the
/// other side protects is none.
fn common_roots(left: &WritableRoots, right: &WritableRoots) -> Vec<PathBuf> {
    let mut common = Vec::new();
    for a in &left.writable {
        for b in &right.writable {
            let deeper = if a.starts_with(b) {
                a
            } else if b.starts_with(a) {
                b
            } else {
                continue;
            };
            let is_allowed = left.permits(deeper) && right.permits(deeper);
            if is_allowed && !common.contains(deeper) {
                common.push(deeper.clone());
            }
        }
    }
    common
}

#[cfg(test)]
mod tests;
