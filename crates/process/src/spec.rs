//! What a caller says about a command.

use std::collections::BTreeMap;
use std::path::PathBuf;

use troupe_protocol::policy::SandboxPolicy;

/// One command, completely described: nothing is taken from the engine's own process.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// Program and arguments. A program without a slash is looked up in `PATH` of `env`.
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    /// The whole environment; nothing is inherited.
    pub env: BTreeMap<String, String>,
    pub confinement: Confinement,
    /// `Some` gives the command a terminal of that size as stdin, stdout and stderr.
    pub terminal: Option<TerminalSize>,
    /// Ignored when the command has a terminal, which is always writable.
    pub stdin: StdinMode,
}

/// What the kernel holds a command to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confinement {
    Unconfined,
    Policy {
        policy: SandboxPolicy,
        /// The session's working directory, which is writable under `workspace-write`;
        /// the command itself may start elsewhere.
        cwd: PathBuf,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    pub rows: u16,
    pub cols: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { rows: 24, cols: 80 }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StdinMode {
    #[default]
    Null,
    Pipe,
}
