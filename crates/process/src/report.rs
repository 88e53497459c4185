//! What this machine enforces, found by asking its kernel and never by its version.

use std::fmt;

use crate::cage;
use crate::launcher::BackendChoice;

/// What holds commands to their policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// Landlock and seccomp, applied between fork and exec.
    Landlock,
}

/// One promise of a policy and whether it is kept here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enforcement {
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
    backend: Result<Backend, String>,
    rows: Vec<Enforcement>,
}

impl EnforcementReport {
    pub(crate) fn probe(choice: BackendChoice) -> Self {
        let kernel = Kernel {
            landlock_abi: cage::landlock_abi(),
            has_seccomp: cage::seccomp_available(),
        };
        kernel.report(choice)
    }

    /// What enforces policies, or why nothing can.
    pub fn backend(&self) -> Result<Backend, &str> {
        self.backend.as_ref().copied().map_err(String::as_str)
    }

    pub fn rows(&self) -> &[Enforcement] {
        &self.rows
    }
}

/// What the kernel answered.
#[derive(Debug, Clone, Copy)]
struct Kernel {
    landlock_abi: u32,
    has_seccomp: bool,
}

impl Kernel {
    fn report(self, choice: BackendChoice) -> EnforcementReport {
        EnforcementReport {
            backend: self.backend(choice),
            rows: self.rows(),
        }
    }

    fn backend(self, choice: BackendChoice) -> Result<Backend, String> {
        match choice {
            BackendChoice::Disabled => Err("it is switched off".to_owned()),
            BackendChoice::Auto | BackendChoice::Landlock if self.landlock_abi == 0 => {
                Err("this kernel has no Landlock, or it is off".to_owned())
            }
            BackendChoice::Auto | BackendChoice::Landlock if !self.has_seccomp => {
                Err("this kernel has no seccomp filters".to_owned())
            }
            BackendChoice::Auto | BackendChoice::Landlock => Ok(Backend::Landlock),
        }
    }

    fn rows(self) -> Vec<Enforcement> {
        let needs_mounts = || EnforcementState::NotEnforced {
            why: "needs a mount namespace".to_owned(),
        };
        vec![
            self.landlock("writes outside the writable roots", 1),
            self.landlock("truncation outside the writable roots", 3),
            self.landlock("control of devices", 5),
            row(
                ".git and .troupe in a writable root are read-only",
                needs_mounts(),
            ),
            self.landlock("files in $TROUPE_HOME cannot be read", 1),
            self.seccomp("TCP, UDP and every other network socket"),
            self.landlock("TCP, a second time", 4),
            self.landlock("signals to processes outside", 6),
            self.landlock("abstract Unix sockets of others", 6),
            self.landlock("Unix sockets of others, by path", 9),
            self.seccomp("ptrace, io_uring, keys, mounts, namespaces, terminal injection"),
            row(
                "no process outlives its command",
                EnforcementState::Enforced {
                    by: "a keeper per command".to_owned(),
                },
            ),
        ]
    }

    fn landlock(self, feature: &'static str, abi_min: u32) -> Enforcement {
        let abi = self.landlock_abi;
        let state = if abi >= abi_min {
            EnforcementState::Enforced {
                by: format!("Landlock ABI {abi}"),
            }
        } else {
            EnforcementState::NotEnforced {
                why: format!("needs Landlock ABI {abi_min}, the kernel has {abi}"),
            }
        };
        row(feature, state)
    }

    fn seccomp(self, feature: &'static str) -> Enforcement {
        let state = if self.has_seccomp {
            EnforcementState::Enforced {
                by: "seccomp".to_owned(),
            }
        } else {
            EnforcementState::NotEnforced {
                why: "the kernel has no seccomp filters".to_owned(),
            }
        };
        row(feature, state)
    }
}

fn row(feature: &'static str, state: EnforcementState) -> Enforcement {
    Enforcement { feature, state }
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

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Landlock => f.write_str("Landlock and seccomp"),
        }
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let feature = self.feature;
        match &self.state {
            EnforcementState::Enforced { by } => write!(f, "  yes  {feature} ({by})"),
            EnforcementState::NotEnforced { why } => write!(f, "  NO   {feature} ({why})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(landlock_abi: u32, has_seccomp: bool, choice: BackendChoice, expected: Expect) {
        let kernel = Kernel {
            landlock_abi,
            has_seccomp,
        };
        expected.assert_eq(&kernel.report(choice).to_string());
    }

    #[test]
    fn a_current_kernel() {
        check(
            7,
            true,
            BackendChoice::Auto,
            expect![[r"
            sandbox: Landlock and seccomp
              yes  writes outside the writable roots (Landlock ABI 7)
              yes  truncation outside the writable roots (Landlock ABI 7)
              yes  control of devices (Landlock ABI 7)
              NO   .git and .troupe in a writable root are read-only (needs a mount namespace)
              yes  files in $TROUPE_HOME cannot be read (Landlock ABI 7)
              yes  TCP, UDP and every other network socket (seccomp)
              yes  TCP, a second time (Landlock ABI 7)
              yes  signals to processes outside (Landlock ABI 7)
              yes  abstract Unix sockets of others (Landlock ABI 7)
              NO   Unix sockets of others, by path (needs Landlock ABI 9, the kernel has 7)
              yes  ptrace, io_uring, keys, mounts, namespaces, terminal injection (seccomp)
              yes  no process outlives its command (a keeper per command)
        "]],
        );
    }

    #[test]
    fn a_kernel_without_either() {
        check(
            0,
            false,
            BackendChoice::Auto,
            expect![[r"
            sandbox: none, confined commands are refused: this kernel has no Landlock, or it is off
              NO   writes outside the writable roots (needs Landlock ABI 1, the kernel has 0)
              NO   truncation outside the writable roots (needs Landlock ABI 3, the kernel has 0)
              NO   control of devices (needs Landlock ABI 5, the kernel has 0)
              NO   .git and .troupe in a writable root are read-only (needs a mount namespace)
              NO   files in $TROUPE_HOME cannot be read (needs Landlock ABI 1, the kernel has 0)
              NO   TCP, UDP and every other network socket (the kernel has no seccomp filters)
              NO   TCP, a second time (needs Landlock ABI 4, the kernel has 0)
              NO   signals to processes outside (needs Landlock ABI 6, the kernel has 0)
              NO   abstract Unix sockets of others (needs Landlock ABI 6, the kernel has 0)
              NO   Unix sockets of others, by path (needs Landlock ABI 9, the kernel has 0)
              NO   ptrace, io_uring, keys, mounts, namespaces, terminal injection (the kernel has no seccomp filters)
              yes  no process outlives its command (a keeper per command)
        "]],
        );
    }
}
