//! What a command finds in its environment.
//!
//! ```text
//! login environment ─ inherit ─► secrets dropped ─► exclude ─► set ─► include_only ─► ours
//! ```
//!
//! The settings are the `shell_environment_policy` table of the configuration. The functions
//! here are pure; who reads the real environment is not this crate's business.

mod secrets;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use troupe_protocol::policy::{SandboxMode, SandboxPolicy};

pub use secrets::{has_secret_name, holds_credentials};

pub(crate) type Variables = BTreeMap<String, String>;

/// Which variables reach commands. Patterns know `*` and `?` and ignore case.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EnvironmentPolicy {
    /// Where to begin.
    pub inherit: InheritedVariables,
    /// Keep variables whose names look like secrets, or whose values are addresses with a
    /// password in them. The model provider's keys are dropped all the same.
    pub ignore_default_excludes: bool,
    /// Drop variables with these names.
    pub exclude: Vec<String>,
    /// Set these variables.
    pub set: BTreeMap<String, String>,
    /// If not empty, drop everything else.
    pub include_only: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Inherit")]
pub enum InheritedVariables {
    /// The user's whole login environment.
    #[default]
    All,
    /// Only what programs need to find their way.
    Core,
    None,
}

const CORE: [&str; 11] = [
    "HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TEMP", "TMP", "TMPDIR", "TZ", "USER", "USERNAME",
];

/// Output is read by a model: no colours, no pagers, one known encoding.
const FIXED: [(&str, &str); 9] = [
    ("NO_COLOR", "1"),
    ("TERM", "dumb"),
    ("COLORTERM", ""),
    ("LANG", "C.UTF-8"),
    ("LC_CTYPE", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GH_PAGER", "cat"),
];

impl EnvironmentPolicy {
    /// Filters the user's variables. `secrets` are names that never reach a command, such as
    /// the variable with the model provider's key.
    pub fn apply(&self, inherited: &Variables, secrets: &[String]) -> Variables {
        let begins = |name: &str| match self.inherit {
            InheritedVariables::All => true,
            InheritedVariables::Core => CORE.contains(&name),
            InheritedVariables::None => false,
        };
        let is_secret = |name: &str, value: &str| {
            secrets.iter().any(|secret| secret == name)
                || (!self.ignore_default_excludes && secrets::is_secret(name, value))
        };
        let mut variables: Variables = inherited
            .iter()
            .filter(|(name, value)| {
                begins(name) && !is_secret(name, value) && !any(&self.exclude, name)
            })
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        variables.extend(self.set.clone());
        if !self.include_only.is_empty() {
            variables.retain(|name, _| any(&self.include_only, name));
        }
        for (name, value) in FIXED {
            if !self.set.contains_key(name) {
                variables.insert(name.to_owned(), value.to_owned());
            }
        }
        variables
    }
}

/// Returns the variables that tell a program what it runs in, so that a failing test or
/// download can be explained. `None` stands for no sandbox at all.
pub fn sandbox_variables(policy: Option<&SandboxPolicy>) -> Vec<(String, String)> {
    let Some(policy) = policy else {
        return Vec::new();
    };
    let mode = match policy.mode() {
        SandboxMode::ReadOnly => "read-only",
        SandboxMode::WorkspaceWrite => "workspace-write",
        SandboxMode::DangerFullAccess => return Vec::new(),
    };
    let mut variables = vec![("TROUPE_SANDBOX".to_owned(), mode.to_owned())];
    if !policy.network_access() {
        variables.push(("TROUPE_SANDBOX_NETWORK_DISABLED".to_owned(), "1".to_owned()));
    }
    variables
}

fn any(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

/// Matches greedily and steps back to the last `*` on a mismatch: linear in practice, and
/// never worse than the product of the lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(byte) if *byte == b'?' || byte.eq_ignore_ascii_case(&name[n]) => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((after, taken)) => {
                    p = after + 1;
                    n = taken + 1;
                    star = Some((after, taken + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests;
