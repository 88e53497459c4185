//! Starts commands.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use troupe_protocol::policy::SandboxPolicy;

use crate::cage::Cage;
use crate::holder::{Holder, Request, Stage, TerminalUse};
use crate::process::{Process, StartFailure};
use crate::report::EnforcementReport;
use crate::roots::writable_roots;
use crate::spec::{CommandSpec, Confinement};

#[derive(Debug, Clone, Default)]
pub struct LauncherOptions {
    pub backend: BackendChoice,
    /// Holds tokens and conversations, so confined commands cannot read the files in it.
    pub troupe_home: Option<PathBuf>,
}

/// What shall enforce policies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// The best that this machine offers.
    #[default]
    Auto,
    Landlock,
    /// As on a machine that can enforce nothing: every confined command is refused.
    Disabled,
}

/// Why a command did not start.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("program `{program}` was not found; name an existing file or one in PATH")]
    NotFound { program: String },
    #[error("cannot use {} as working directory: {source}", path.display())]
    WorkingDirectory { path: PathBuf, source: io::Error },
    #[error("cannot execute `{program}`: {source}")]
    Execute { program: String, source: io::Error },
    #[error("invalid command: {what}")]
    Invalid { what: String },
    /// The policy cannot be enforced; nothing was run.
    #[error("the sandbox cannot be enforced: {why}; {what_to_do}")]
    Refused { why: String, what_to_do: String },
    #[error("cannot start processes: {0}")]
    Io(#[from] io::Error),
}

/// Starts commands, each held to its policy by the kernel. Cheap to clone; clones share what is
/// kept between commands. Everything is set up when first needed.
#[derive(Debug, Clone)]
pub struct Launcher(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    options: LauncherOptions,
    report: OnceLock<EnforcementReport>,
    /// Started by the first command and again if it should ever end.
    holder: Mutex<Option<Arc<Holder>>>,
}

impl Launcher {
    pub fn new(options: LauncherOptions) -> Self {
        Self(Arc::new(Shared {
            options,
            report: OnceLock::new(),
            holder: Mutex::new(None),
        }))
    }

    /// What this machine enforces and what not, found by trying.
    pub fn report(&self) -> EnforcementReport {
        self.probed().clone()
    }

    /// Starts a command. It must be called in a tokio runtime.
    pub async fn spawn(&self, spec: CommandSpec) -> Result<Process, SpawnError> {
        validate(&spec)?;
        let cage = self.cage(&spec)?;
        let request = Request {
            argv: spec.argv,
            cwd: spec.cwd,
            env: spec.env,
            cage,
            terminal: match spec.terminal {
                Some(_) => TerminalUse::Controlling,
                None => TerminalUse::None,
            },
        };
        let holder = self.holder()?;
        let started =
            Process::start(Arc::clone(&holder), &request, spec.terminal, spec.stdin).await;
        let started = match started {
            Err(StartFailure::Holder(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                // Somebody has killed the holder. A new one serves as well.
                let holder = self.replace(&holder)?;
                Process::start(holder, &request, spec.terminal, spec.stdin).await
            }
            started => started,
        };
        started.map_err(|failure| spawn_error(failure, request))
    }

    fn probed(&self) -> &EnforcementReport {
        let choice = self.0.options.backend;
        self.0
            .report
            .get_or_init(|| EnforcementReport::probe(choice))
    }

    /// The rules for a confined command; refuses it if they could not be enforced.
    fn cage(&self, spec: &CommandSpec) -> Result<Option<Cage>, SpawnError> {
        let (policy, cwd) = match &spec.confinement {
            Confinement::Unconfined
            | Confinement::Policy {
                policy: SandboxPolicy::DangerFullAccess,
                ..
            } => return Ok(None),
            Confinement::Policy { policy, cwd } => (policy, cwd),
        };
        if let Err(why) = self.probed().backend() {
            return Err(SpawnError::Refused {
                why: why.to_owned(),
                what_to_do: "use a kernel with Landlock and seccomp, or run in a container of \
                             your own with the policy danger-full-access"
                    .to_owned(),
            });
        }
        let hidden = self.0.options.troupe_home.iter();
        let hidden = hidden.filter_map(|path| path.canonicalize().ok()).collect();
        Ok(Some(Cage::new(
            writable_roots(policy, cwd, &spec.env),
            hidden,
        )))
    }

    fn holder(&self) -> io::Result<Arc<Holder>> {
        let mut slot = self.0.holder.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(holder) = &*slot {
            return Ok(Arc::clone(holder));
        }
        let holder = Arc::new(Holder::start()?);
        *slot = Some(Arc::clone(&holder));
        Ok(holder)
    }

    /// Forgets a holder that has ended, unless that was done already.
    fn replace(&self, ended: &Arc<Holder>) -> io::Result<Arc<Holder>> {
        let mut slot = self.0.holder.lock().unwrap_or_else(PoisonError::into_inner);
        if slot
            .as_ref()
            .is_some_and(|holder| Arc::ptr_eq(holder, ended))
        {
            *slot = None;
        }
        drop(slot);
        self.holder()
    }
}

/// Refuses what could only fail later, and less clearly.
fn validate(spec: &CommandSpec) -> Result<(), SpawnError> {
    let invalid = |what: String| Err(SpawnError::Invalid { what });
    match spec.argv.first() {
        None => return invalid("it has no program".to_owned()),
        Some(program) if program.is_empty() => {
            return invalid("the name of its program is empty".to_owned());
        }
        Some(_) => {}
    }
    if let Some(argument) = spec.argv.iter().position(|it| it.contains('\0')) {
        return invalid(format!("argument {argument} contains a NUL byte"));
    }
    let misnamed = |name: &str| name.is_empty() || name.contains(['=', '\0']);
    if let Some((name, _)) = spec
        .env
        .iter()
        .find(|(name, value)| misnamed(name) || value.contains('\0'))
    {
        return invalid(format!("environment variable {name:?} is malformed"));
    }
    Ok(())
}

fn spawn_error(failure: StartFailure, request: Request) -> SpawnError {
    let program = || request.argv.first().cloned().unwrap_or_default();
    match failure {
        StartFailure::Holder(error) => SpawnError::Io(error),
        StartFailure::Stage(Stage::WorkingDirectory, source) => SpawnError::WorkingDirectory {
            path: request.cwd,
            source,
        },
        StartFailure::Stage(Stage::Execute, source) if source.kind() == io::ErrorKind::NotFound => {
            SpawnError::NotFound { program: program() }
        }
        StartFailure::Stage(Stage::Execute, source) => SpawnError::Execute {
            program: program(),
            source,
        },
        StartFailure::Stage(Stage::Sandbox, source) => SpawnError::Refused {
            why: format!("the kernel did not take its rules ({source})"),
            what_to_do: "run `troupe doctor` to see what this machine enforces".to_owned(),
        },
    }
}
