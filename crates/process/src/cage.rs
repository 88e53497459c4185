//! What is applied to a command between fork and exec so that the kernel holds it to its policy.
//!
//! The steps run in the child, after any namespaces and before exec, in the only order that
//! works: Landlock and seccomp both need `no_new_privs`, and the seccomp filter must come last
//! because it forbids some of the calls which the other steps make.

mod assembler;
mod calls;
mod capabilities;
mod landlock;
mod seccomp;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use self::calls::{MODE_SETTERS, PathArgument, REFUSED_AND_TOLD, WRITES};
pub(crate) use self::landlock::abi as landlock_abi;
use self::seccomp::SeccompFilter;
pub(crate) use self::seccomp::is_available as seccomp_available;
use crate::nested::NestedPaths;
use crate::roots::{NetworkAccess, WritableRoots};

/// Who is in a cage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CageOccupant {
    Command,
    /// Work of this program, which opens files without following links.
    Worker,
}

/// The rules of one policy as they travel from the engine to the command's side.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Cage {
    pub writable: Vec<PathBuf>,
    /// Those of them that are searched for what is nested.
    pub workspaces: Vec<PathBuf>,
    /// Read-only inside the writable roots; only a mount namespace can enforce it.
    pub protected: Vec<PathBuf>,
    /// Protected as well: what the search found deeper in the roots, and can be mounted over.
    pub nested: Vec<PathBuf>,
    /// Directories whose files must not be read either.
    pub hidden: Vec<PathBuf>,
    /// Directories inside the hidden ones that can be read.
    pub shown: Vec<PathBuf>,
    pub network: NetworkAccess,
}

impl Cage {
    pub fn new(roots: WritableRoots, hidden: Vec<PathBuf>) -> Self {
        let WritableRoots {
            writable,
            workspaces,
            mut protected,
            protected_names: _,
            network,
        } = roots;
        // Somebody has asked for these; one that does not exist yet may come to.
        protected.retain(|path| !writable.contains(path));
        Self {
            writable,
            workspaces,
            protected,
            nested: Vec::new(),
            hidden,
            shown: Vec::new(),
            network,
        }
    }

    /// Lets these directories be read though they lie in hidden ones.
    pub fn with_shown(self, shown: Vec<PathBuf>) -> Self {
        Self { shown, ..self }
    }

    /// Protects what a search of this cage found.
    pub fn with_nested(mut self, nested: &NestedPaths) -> Self {
        self.protected.extend(nested.links.iter().cloned());
        self.nested.clone_from(&nested.mountable);
        self.nested.extend(nested.temporary.iter().cloned());
        self
    }

    /// The strictest cage, for trying what a machine can do.
    pub fn strictest() -> Self {
        Self {
            writable: Vec::new(),
            workspaces: Vec::new(),
            protected: Vec::new(),
            nested: Vec::new(),
            hidden: Vec::new(),
            shown: Vec::new(),
            network: NetworkAccess::Denied,
        }
    }

    /// Prepares what one command needs. Allocates and opens files, so it runs before fork;
    /// rules name inodes, so it runs for every command and never serves a stale directory.
    pub fn lock(&self, inmate: CageOccupant) -> io::Result<CageLock> {
        Ok(CageLock {
            ruleset: landlock::ruleset(self)?,
            filter: SeccompFilter::of(self.network, inmate),
        })
    }
}

/// What the kernel enforces, so names alone protect nothing.
impl From<Cage> for WritableRoots {
    fn from(cage: Cage) -> Self {
        let (mut protected, mut nested) = (cage.protected, cage.nested);
        protected.append(&mut nested);
        Self {
            writable: cage.writable,
            workspaces: cage.workspaces,
            protected,
            protected_names: &[],
            network: cage.network,
        }
    }
}

/// A [`Cage`] ready to be applied to the calling process.
#[derive(Debug)]
pub(crate) struct CageLock {
    ruleset: ::landlock::RulesetCreated,
    filter: &'static SeccompFilter,
}

impl CageLock {
    /// Returns where the kernel will report what the command tries, if it does.
    pub fn apply(&self) -> io::Result<Option<OwnedFd>> {
        capabilities::drop_dangerous()?;
        nix::sys::prctl::set_no_new_privs()?;
        landlock::restrict(&self.ruleset)?;
        self.filter.apply()
    }
}
