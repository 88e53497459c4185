//! The only door to processes: start, stream, signal, sweep; and what the sandbox allows.
//!
//! ```text
//! CommandSpec ─► Launcher ─► holder ─► keeper ─► cage, exec          (see `holder`)
//!                   │                     │
//!                   └──► Process ◄── control socket, pipes or terminal
//!                           └─► ProcessEvent::Output … ProcessEvent::Exited
//! ```
//!
//! A command under a policy is held to it by the kernel ([`writable_roots`] is the table of what
//! it may do, `cage` how that is enforced) or is not run at all. [`Launcher::report`] says what
//! this machine can enforce.
//!
//! No process outlives its owner: a [`Process`] that is dropped, and an engine that dies, end the
//! whole tree of every command they had, daemons included.
//!
//! Whoever listens on a Unix socket asks [`check_peer`] whether the other end may speak for the
//! user: a confined command may not.
//!
//! Deliberately absent: approval and everything that decides which policy a command gets, the
//! meaning of its output, time limits (callers have their own), reading of the engine's own
//! environment.

mod cage;
mod git;
mod hardening;
mod holder;
mod holder_pool;
mod intersection;
mod launcher;
pub mod limits;
mod login;
mod nested;
mod output;
mod peer;
mod placeholder;
mod pollable;
mod process;
mod report;
mod roots;
mod spec;
mod sweep;
mod worker;

pub use git::{GitError, GitOutput, GitReader};
pub use hardening::harden_engine;
pub use intersection::intersect;
pub use launcher::{BackendChoice, Launcher, LauncherOptions, SpawnError};
pub use login::{LoginError, login_environment};
pub use nested::gitlinks;
pub use output::OutputBuffer;
pub use peer::{PeerError, check_peer};
pub use placeholder::{holds_repository, is_placeholder};
pub use process::{
    CommandKiller, KillOutcome, LeftBehind, Process, ProcessEvent, ProcessExit, SandboxDenial,
};
pub use report::{EnforcementReport, EnforcementState, FeatureEnforcement, SandboxBackend};
pub use roots::{NetworkAccess, WritableRoots, git_directories, has_named_part, writable_roots};
pub use spec::{CommandSpec, Confinement, StdinMode, TerminalSize};
pub use sweep::sweep;
pub use worker::{Work, WorkerSpec, register_worker};
