//! What a policy lets a command write, as one table.
//!
//! | policy | writable | protected inside it | network |
//! |---|---|---|---|
//! | `danger-full-access` | everything | nothing | yes |
//! | `read-only` | nothing | – | as the policy says |
//! | `workspace-write` | cwd, listed roots, `/tmp`, `$TMPDIR` | `.git`, `.troupe`, however deep | as the policy says |
//!
//! Those directly in a root are listed. Deeper ones are known by their names, which is enough for
//! deciding whom to ask; for mounts they have to be found, see [`crate::nested`].
//!
//! A root that is reached through a symlink inside another root is left out.
//!
//! A protected path that is itself listed as a root is writable: somebody has asked for it.
//! [`WritableRoots::guarding`] adds the engine's own directory to what is protected.
//!
//! A `.git` that is a file stands for a repository elsewhere; the directory that it names and
//! the repository which that one shares are protected as well. Reading those pointers is the
//! only thing here that touches the disk.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use troupe_protocol::policy::SandboxPolicy;

/// Names that stay read-only in a writable root: a command that could write them would choose what
/// runs outside the sandbox later (hooks, configuration, roles). Deeper ones count as well: git
/// looks into the repositories inside a repository, and obeys what they are configured to run.
pub(crate) const PROTECTED_NAMES: [&str; 2] = [".git", ".troupe"];

/// Where a command may write and whether it may use the network.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WritableRoots {
    /// Absolute, symlinks resolved where they exist, each once, in the order of the table.
    pub writable: Vec<PathBuf>,
    /// Those of them that are for work and not for temporary files.
    pub workspaces: Vec<PathBuf>,
    /// Read-only although they lie in a writable root. They need not exist.
    pub protected: Vec<PathBuf>,
    /// What bears one of these names below a writable root is protected, and so is all in it.
    pub protected_names: &'static [&'static str],
    pub network: NetworkAccess,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum NetworkAccess {
    Denied,
    Allowed,
}

/// Looks up the table for one policy. `cwd` is the session's, `env` the command's.
pub fn writable_roots(
    policy: &SandboxPolicy,
    cwd: &Path,
    env: &BTreeMap<String, String>,
) -> WritableRoots {
    let network = if policy.network_access() {
        NetworkAccess::Allowed
    } else {
        NetworkAccess::Denied
    };
    let (writable, workspaces) = match policy {
        SandboxPolicy::DangerFullAccess => {
            return WritableRoots {
                writable: vec![PathBuf::from("/")],
                workspaces: Vec::new(),
                protected: Vec::new(),
                protected_names: &[],
                network,
            };
        }
        SandboxPolicy::ReadOnly { .. } => (Vec::new(), Vec::new()),
        SandboxPolicy::WorkspaceWrite {
            writable_roots,
            exclude_tmpdir_env_var,
            exclude_slash_tmp,
            ..
        } => {
            let mut roots = vec![cwd.to_path_buf()];
            roots.extend(writable_roots.iter().map(|root| cwd.join(root)));
            let for_work = roots.len();
            if !exclude_slash_tmp {
                roots.push(PathBuf::from("/tmp"));
            }
            if !exclude_tmpdir_env_var {
                roots.extend(temporary_directory(env));
            }
            let real = trusted(&roots);
            let temporary = [Some(PathBuf::from("/tmp")), temporary_directory(env)];
            let (first, others) = real[..for_work].split_at(1);
            let others = others.iter().filter(|root| !temporary.contains(root));
            let workspaces = distinct(first.iter().chain(others).flatten().cloned());
            (distinct(real.into_iter().flatten()), workspaces)
        }
    };
    let around = workspaces.iter().flat_map(|it| around(it, &writable));
    let protected = writable.iter().flat_map(|root| protected_below(root));
    let protected = distinct(protected.chain(around));
    WritableRoots {
        writable,
        workspaces,
        protected,
        protected_names: &PROTECTED_NAMES,
        network,
    }
}

impl WritableRoots {
    /// Protects the engine's own directory where it lies in a writable root, and the symlinks that
    /// lead to it: who could write it would choose the rights of the next session. A policy
    /// without limits has nothing to guard.
    #[must_use]
    pub fn protecting_home(mut self, home: &Path) -> Self {
        let links = home.ancestors().filter(|path| path.is_symlink());
        let links = links.filter_map(|link| Some(resolve(link.parent()?).join(link.file_name()?)));
        for path in std::iter::once(resolve(home)).chain(links) {
            let is_inside = self.writable.iter().any(|root| path.starts_with(root));
            if is_inside && !self.protected.contains(&path) {
                self.protected.push(path);
            }
        }
        self
    }

    /// Says whether the table lets `path`, which must be absolute, be written: the innermost root
    /// or protected path that contains it decides, and a protected name below the root forbids,
    /// whether it is there before or after symlinks are resolved. Between this answer and a write
    /// they may change: this is for deciding whom to ask, the kernel enforces.
    pub fn permits(&self, path: &Path) -> bool {
        let real = resolve(path);
        let names = self.protected_names;
        let is_named = |path: &Path| has_named_part(path, &self.writable, names);
        self.lists(&real) && !is_named(&real) && !is_named(&plain(path))
    }

    /// The same for a path without symlinks, by what is listed alone.
    fn lists(&self, path: &Path) -> bool {
        let innermost = |roots: &[PathBuf]| {
            let around = roots.iter().filter(|root| path.starts_with(root));
            around.map(|root| root.components().count()).max()
        };
        match (innermost(&self.writable), innermost(&self.protected)) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(writable), Some(protected)) => writable >= protected,
        }
    }
}

/// Says whether a path has one of the names as a part below the innermost root around it. By its
/// letters: without `..`, and with links only where they are meant.
pub fn has_named_part(path: &Path, roots: &[PathBuf], names: &[impl AsRef<OsStr>]) -> bool {
    let below = roots.iter().filter_map(|root| path.strip_prefix(root).ok());
    let below = below.min_by_key(|rest| rest.components().count());
    let is_name = |part: &OsStr| names.iter().any(|name| name.as_ref() == part);
    below.is_some_and(|rest| rest.iter().any(is_name))
}

/// Resolves the roots. One that is reached through a link inside another root is none: a
/// command may have put the link there, and would choose by it what it may write next.
fn trusted(roots: &[PathBuf]) -> Vec<Option<PathBuf>> {
    let real: Vec<PathBuf> = roots.iter().map(|root| resolve(root)).collect();
    let is_trusted = |index: usize| {
        let links = roots[index].ancestors().filter(|path| path.is_symlink());
        let mut places =
            links.filter_map(|link| Some(resolve(link.parent()?).join(link.file_name()?)));
        let others = || real.iter().enumerate().filter(|(other, _)| *other != index);
        !places.any(|place| others().any(|(_, root)| place.starts_with(root)))
    };
    let trusted: Vec<bool> = (0..roots.len()).map(is_trusted).collect();
    real.into_iter()
        .zip(trusted)
        .map(|(root, is_trusted)| is_trusted.then_some(root))
        .collect()
}

/// `$TMPDIR`, unless it would open the whole disk.
fn temporary_directory(env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let path = Path::new(env.get("TMPDIR")?);
    let resolved = resolve(path);
    (path.is_absolute() && resolved.parent().is_some()).then_some(resolved)
}

fn protected_below(root: &Path) -> Vec<PathBuf> {
    let named = PROTECTED_NAMES.map(|name| root.join(name));
    // Where a symlink leads is protected as well.
    let targets = named.iter().map(|path| resolve(path)).collect::<Vec<_>>();
    named
        .into_iter()
        .chain(targets)
        .chain(git_directories(root))
        .collect()
}

/// What is protected between a workspace and a root that it lies in: git looks upwards as well.
fn around(workspace: &Path, roots: &[PathBuf]) -> Vec<PathBuf> {
    let above = workspace.ancestors().skip(1);
    let between = above.filter(|path| {
        let mut roots = roots.iter();
        roots.any(|root| path.starts_with(root) && path != root)
    });
    between
        .flat_map(|path| PROTECTED_NAMES.map(|name| path.join(name)))
        .collect()
}

/// The directories behind a `.git` pointer file: `gitdir: <path>` names the worktree's own,
/// whose `commondir` names the one with objects, hooks and configuration.
pub fn git_directories(root: &Path) -> Vec<PathBuf> {
    let Some(pointer) = read_short(&root.join(".git")) else {
        return Vec::new();
    };
    let Some(target) = pointer.strip_prefix("gitdir:") else {
        return Vec::new();
    };
    let git_dir = resolve(&root.join(target.trim()));
    let common =
        read_short(&git_dir.join("commondir")).map(|path| resolve(&git_dir.join(path.trim())));
    std::iter::once(git_dir).chain(common).collect()
}

/// Reads a pointer file; anything larger than a path is none.
fn read_short(path: &Path) -> Option<String> {
    let metadata = std::fs::metadata(path).ok()?;
    let is_pointer = metadata.is_file() && metadata.len() <= libc::PATH_MAX as u64;
    is_pointer.then(|| std::fs::read_to_string(path).ok())?
}

/// Resolves symlinks in the part of the path that exists, component by component as the kernel
/// does, so that `link/..` leads to the parent of the link's target.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let mut real = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                real.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir => real.push(part),
            Component::Normal(name) => {
                real.push(name);
                real = real.canonicalize().unwrap_or(real);
            }
        }
    }
    real
}

/// The path without `.` and `..`, by its letters alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
    }
    plain
}

fn distinct(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let mut seen = Vec::new();
    for path in paths {
        if !seen.contains(&path) {
            seen.push(path);
        }
    }
    seen
}

#[cfg(test)]
mod tests;
