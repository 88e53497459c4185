//! What this machine enforces, found by asking its kernel and never by its version.

use std::fmt;

use crate::cage::{self, Cage};
use crate::holder::{Holder, HolderSetup};
use crate::launcher::BackendChoice;
use crate::nested::{NestedPaths, UnfinishedSearch};

/// What holds commands to their policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxBackend {
    /// User, mount, network, ipc and pid namespaces, then Landlock and seccomp.
    Namespaces,
    /// Landlock and seccomp alone.
    Landlock,
}

impl SandboxBackend {
    /// Returns its name for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "Landlock",
        }
    }
}

/// One promise of a policy and whether it is kept here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureEnforcement {
    pub feature: &'static str,
    pub state: EnforcementState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnforcementState {
    Enforced { by: String },
    NotEnforced { why: String },
}

/// Prints as a table for `doctor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnforcementReport {
    backend: Result<SandboxBackend, String>,
    rows: Vec<FeatureEnforcement>,
}

impl EnforcementReport {
    /// What enforces policies, or why nothing can.
    pub fn backend(&self) -> Result<SandboxBackend, &str> {
        self.backend.as_ref().copied().map_err(String::as_str)
    }

    pub fn rows(&self) -> &[FeatureEnforcement] {
        &self.rows
    }
}

/// What is known of the repositories deeper in the workspaces.
#[derive(Debug, Default)]
pub(crate) struct SearchSummary {
    /// None if nothing was searched for this report.
    found: Option<usize>,
    stopped: Vec<UnfinishedSearch>,
}

impl SearchSummary {
    /// By the policies that are in use.
    pub fn for_commands(stopped: Vec<UnfinishedSearch>) -> Self {
        Self {
            found: None,
            stopped,
        }
    }
}

impl From<NestedPaths> for SearchSummary {
    fn from(nested: NestedPaths) -> Self {
        Self {
            found: Some(nested.count()),
            stopped: nested.stopped.into_iter().collect(),
        }
    }
}

/// What the kernel answered.
#[derive(Debug, Clone)]
pub(crate) struct KernelSupport {
    /// Whether namespaces could be set up, or what went wrong.
    namespaces: Result<(), String>,
    landlock_abi: u32,
    has_seccomp: bool,
}

impl KernelSupport {
    /// Tries what the choice allows. Blocks for some milliseconds.
    pub fn probe(choice: BackendChoice) -> Self {
        let namespaces = match choice {
            BackendChoice::Auto | BackendChoice::Namespaces => {
                Holder::start(&HolderSetup::Namespaces(Cage::strictest()))
                    .map(drop)
                    .map_err(|error| error.to_string())
            }
            BackendChoice::Landlock | BackendChoice::Disabled => {
                Err("namespaces are switched off".to_owned())
            }
        };
        Self::with_namespaces(namespaces)
    }

    pub fn with_namespaces(namespaces: Result<(), String>) -> Self {
        Self {
            namespaces,
            landlock_abi: cage::landlock_abi(),
            has_seccomp: cage::seccomp_available(),
        }
    }

    /// The best backend that the choice allows, or why there is none.
    pub fn backend(&self, choice: BackendChoice) -> Result<SandboxBackend, String> {
        if choice == BackendChoice::Disabled {
            return Err("it is switched off".to_owned());
        }
        if !self.has_seccomp {
            return Err("this kernel has no seccomp filters".to_owned());
        }
        let namespaces = self.namespaces.clone().map(|()| SandboxBackend::Namespaces);
        let landlock = match self.landlock_abi {
            0 => Err("this kernel has no Landlock, or it is off".to_owned()),
            1.. => Ok(SandboxBackend::Landlock),
        };
        match choice {
            BackendChoice::Namespaces => namespaces,
            BackendChoice::Landlock => landlock,
            BackendChoice::Auto | BackendChoice::Disabled => namespaces
                .or_else(|first| landlock.map_err(|second| format!("{first}, and {second}"))),
        }
    }

    pub fn report(&self, choice: BackendChoice, searched: &SearchSummary) -> EnforcementReport {
        let backend = self.backend(choice);
        let rows = match backend {
            Ok(SandboxBackend::Namespaces) => self.rows_of_namespaces(searched),
            Ok(SandboxBackend::Landlock) | Err(_) => self.rows_of_landlock(),
        };
        EnforcementReport { backend, rows }
    }

    fn rows_of_namespaces(&self, searched: &SearchSummary) -> Vec<FeatureEnforcement> {
        vec![
            enforced("writes outside the writable roots", "mount namespace"),
            enforced(PROTECTED, "mount namespace"),
            row(NESTED, nested(searched)),
            enforced(HIDDEN_HOME, "mount namespace"),
            enforced(
                "terminals and shared memory of others",
                "mount and ipc namespaces",
            ),
            enforced(
                "TCP, UDP and every other network socket",
                "network namespace and seccomp",
            ),
            enforced(
                "processes outside are neither seen nor signalled",
                "pid namespace",
            ),
            self.landlock("abstract Unix sockets of others", 6),
            enforced(
                "Unix sockets of others, by path",
                "mount namespace, for those bound before a command starts",
            ),
            enforced(DANGEROUS_CALLS, "seccomp"),
            enforced("no process outlives its command", "pid namespace"),
        ]
    }

    fn rows_of_landlock(&self) -> Vec<FeatureEnforcement> {
        let needs_mounts = || {
            let why = match &self.namespaces {
                Ok(()) => "needs a mount namespace".to_owned(),
                Err(why) => format!("needs a mount namespace: {why}"),
            };
            EnforcementState::NotEnforced { why }
        };
        vec![
            self.landlock("writes outside the writable roots", 1),
            self.landlock("truncation outside the writable roots", 3),
            self.landlock("control of devices", 5),
            row(
                "modes, owners and times outside the writable roots",
                needs_mounts(),
            ),
            row(PROTECTED, needs_mounts()),
            row(NESTED, needs_mounts()),
            self.hidden_home(),
            self.seccomp("TCP, UDP and every other network socket"),
            self.landlock("signals to processes outside", 6),
            self.landlock("abstract Unix sockets of others", 6),
            self.landlock("Unix sockets of others, by path", 9),
            self.seccomp(DANGEROUS_CALLS),
            enforced("no process outlives its command", "a keeper per command"),
        ]
    }

    fn landlock(&self, feature: &'static str, abi_min: u32) -> FeatureEnforcement {
        let abi = self.landlock_abi;
        if abi >= abi_min {
            return enforced(feature, &format!("Landlock ABI {abi}"));
        }
        let why = format!("needs Landlock ABI {abi_min}, the kernel has {abi}");
        row(feature, EnforcementState::NotEnforced { why })
    }

    /// Says what it costs as well: who misses a file there must find out why.
    fn hidden_home(&self) -> FeatureEnforcement {
        let row = self.landlock(HIDDEN_HOME, 1);
        let state = match row.state {
            EnforcementState::Enforced { by } => EnforcementState::Enforced {
                by: format!("{by}; nothing new can be made directly in a writable root around it"),
            },
            missing @ EnforcementState::NotEnforced { .. } => missing,
        };
        FeatureEnforcement { state, ..row }
    }

    fn seccomp(&self, feature: &'static str) -> FeatureEnforcement {
        if self.has_seccomp {
            return enforced(feature, "seccomp");
        }
        let why = "the kernel has no seccomp filters".to_owned();
        row(feature, EnforcementState::NotEnforced { why })
    }
}

const PROTECTED: &str = ".git and .troupe directly in a writable root are read-only";
const NESTED: &str = ".git and .troupe deeper in a writable root are read-only";
const HIDDEN_HOME: &str = "files in $TROUPE_HOME can be neither read nor written";
const DANGEROUS_CALLS: &str = "ptrace, io_uring, keys, mounts, namespaces, terminal injection";

/// Says what is left out as well: what comes later is not protected.
fn nested(searched: &SearchSummary) -> EnforcementState {
    let found = searched.found.map(|found| format!("{found} here"));
    if searched.stopped.is_empty() {
        let found = found.map(|found| format!("; {found}")).unwrap_or_default();
        let by = format!(
            "mount namespace, for those that are there when a policy is first used, outside of \
             temporary directories{found}"
        );
        return EnforcementState::Enforced { by };
    }
    let reasons: Vec<_> = searched
        .stopped
        .iter()
        .map(UnfinishedSearch::to_string)
        .collect();
    let found = found.map(|it| format!(" ({it})")).unwrap_or_default();
    let why = format!(
        "only those found are{found}, because {}",
        reasons.join(", and ")
    );
    EnforcementState::NotEnforced { why }
}

fn enforced(feature: &'static str, by: &str) -> FeatureEnforcement {
    row(feature, EnforcementState::Enforced { by: by.to_owned() })
}

fn row(feature: &'static str, state: EnforcementState) -> FeatureEnforcement {
    FeatureEnforcement { feature, state }
}

impl fmt::Display for EnforcementReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.backend {
            Ok(backend) => writeln!(f, "sandbox: {backend}")?,
            Err(why) => writeln!(f, "sandbox: none, confined commands are refused: {why}")?,
        }
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))
    }
}

impl fmt::Display for SandboxBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespaces => f.write_str("namespaces, Landlock and seccomp"),
            Self::Landlock => f.write_str("Landlock and seccomp"),
        }
    }
}

impl fmt::Display for FeatureEnforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let feature = self.feature;
        match &self.state {
            EnforcementState::Enforced { by } => write!(f, "  yes  {feature} ({by})"),
            EnforcementState::NotEnforced { why } => write!(f, "  NO   {feature} ({why})"),
        }
    }
}

#[cfg(test)]
mod tests;
