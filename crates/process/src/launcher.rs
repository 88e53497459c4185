//! Starts commands.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use troupe_protocol::policy::SandboxPolicy;

use crate::cage::Cage;
use crate::holder::{CommandImage, CommandRequest, Holder, HolderError, StartStage, TerminalUse};
use crate::holder_pool::{HolderKey, HolderPool, PolicyHolder};
use crate::nested::{NestedPaths, search};
use crate::process::{Process, ProcessOwners, StartFailure};
use crate::report::{EnforcementReport, KernelSupport, SandboxBackend, SearchSummary};
use crate::roots::writable_roots;
use crate::spec::{CommandSpec, Confinement, StdinMode};
use crate::sweep::{EngineId, EngineRecord, MARK};
use crate::worker::WorkerSpec;

#[derive(Debug, Clone, Default)]
pub struct LauncherOptions {
    pub backend: BackendChoice,
    /// Holds configuration, tokens and conversations, so confined commands can neither read nor
    /// write the files in it, unless a root of their policy is this directory or lies inside it. A
    /// record of this engine is kept there for [`sweep`](crate::sweep).
    pub troupe_home: Option<PathBuf>,
    /// Directories inside the home that confined commands may read all the same, by their names
    /// there.
    pub home_shown: Vec<PathBuf>,
}

/// What shall enforce policies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// The best that this machine offers: namespaces, else Landlock.
    #[default]
    Auto,
    Namespaces,
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
pub struct Launcher(Arc<LauncherState>);

#[derive(Debug)]
struct LauncherState {
    options: LauncherOptions,
    /// Found out by the first command that needs to know, or by the first report.
    kernel: OnceLock<KernelSupport>,
    holders: HolderPool,
    /// Written for the first command. Without one, commands end with the engine all the same; only
    /// the sweep after it would miss them.
    record: OnceLock<Option<Arc<EngineRecord>>>,
    /// Tells the commands of a recorded engine from any other process.
    mark: OnceLock<Option<String>>,
}

/// Where a command is started, and what it is held to there.
struct LaunchTarget {
    key: HolderKey,
    cage: Option<Cage>,
    /// What was in its workspaces when the policy was set up.
    nested: Option<Arc<NestedPaths>>,
}

impl Launcher {
    pub fn new(options: LauncherOptions) -> Self {
        Self(Arc::new(LauncherState {
            options,
            kernel: OnceLock::new(),
            holders: HolderPool::default(),
            record: OnceLock::new(),
            mark: OnceLock::new(),
        }))
    }

    /// What this machine enforces and what not, found by trying. Blocks for some milliseconds
    /// the first time.
    pub fn report(&self) -> EnforcementReport {
        self.report_with(&SearchSummary::for_commands(
            self.0.holders.stopped_searches(),
        ))
    }

    /// The same for commands with a policy, whose workspaces are searched for this.
    pub fn report_on(
        &self,
        policy: &SandboxPolicy,
        cwd: &Path,
        env: &BTreeMap<String, String>,
    ) -> EnforcementReport {
        let searched = self.cage(policy, cwd, env).map(|cage| search(&cage));
        self.report_with(&searched.map(SearchSummary::from).unwrap_or_default())
    }

    fn report_with(&self, searched: &SearchSummary) -> EnforcementReport {
        let choice = self.0.options.backend;
        self.0
            .kernel
            .get_or_init(|| KernelSupport::probe(choice))
            .report(choice, searched)
    }

    /// Starts a command. It must be called in a tokio runtime.
    pub async fn spawn(&self, spec: CommandSpec) -> Result<Process, SpawnError> {
        self.start(spec, CommandImage::Program).await
    }

    /// Starts work of this program, confined like a command, with a pipe as stdin. It must be
    /// called in a tokio runtime.
    pub async fn spawn_worker(&self, worker: WorkerSpec) -> Result<Process, SpawnError> {
        let spec = CommandSpec {
            argv: vec![worker.name.to_owned()],
            cwd: PathBuf::from("/"),
            env: worker.env,
            confinement: worker.confinement,
            terminal: None,
            stdin: StdinMode::Pipe,
        };
        self.start(spec, CommandImage::Worker).await
    }

    async fn start(&self, spec: CommandSpec, image: CommandImage) -> Result<Process, SpawnError> {
        validate(&spec)?;
        // Before the rules are made: it creates a home that was missing, and only what exists can
        // be hidden.
        self.record();
        let (place, holder) = self.place(&spec).await?;
        // A worker is this program, and asks for each path by name before it writes there.
        let searched = match image {
            CommandImage::Program => place.nested,
            CommandImage::Worker => None,
        };
        let mut env = spec.env;
        env.extend(self.mark());
        let request = CommandRequest {
            argv: spec.argv,
            image,
            cwd: spec.cwd,
            env,
            cage: place.cage,
            terminal: match spec.terminal {
                Some(_) => TerminalUse::Controlling,
                None => TerminalUse::None,
            },
        };
        let start = async |holder| {
            let owners = ProcessOwners {
                holder,
                searched: searched.clone(),
                _record: self.record(),
            };
            Process::start(owners, &request, spec.terminal, spec.stdin).await
        };
        let started = match start(Arc::clone(&holder)).await {
            Err(StartFailure::Holder(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                // Somebody has killed the holder. A new one serves as well.
                self.0.holders.forget(&holder);
                let held = self.0.holders.get(&place.key).await;
                start(held.map_err(|error| refused(&error.to_string()))?.holder).await
            }
            started => started,
        };
        started.map_err(|failure| spawn_error(failure, request))
    }

    fn record(&self) -> Option<Arc<EngineRecord>> {
        let write = || {
            let home = self.0.options.troupe_home.as_ref()?;
            let record = EngineRecord::write(home, EngineId::current().ok()?).inspect_err(
                |error| tracing::warn!(%error, "the record of this engine was not written"),
            );
            record.ok().map(Arc::new)
        };
        self.0.record.get_or_init(write).clone()
    }

    fn mark(&self) -> Option<(String, String)> {
        let make = || {
            self.0.options.troupe_home.as_ref()?;
            Some(EngineId::current().ok()?.to_string())
        };
        let mark = self.0.mark.get_or_init(make).clone()?;
        Some((MARK.to_owned(), mark))
    }

    /// Finds the holder for a command; refuses one whose policy could not be enforced.
    async fn place(&self, spec: &CommandSpec) -> Result<(LaunchTarget, Arc<Holder>), SpawnError> {
        let cage = match &spec.confinement {
            Confinement::Unconfined => None,
            Confinement::Policy { policy, cwd } => self.cage(policy, cwd, &spec.env),
        };
        let Some(cage) = cage else {
            return self.hold(LaunchTarget::bare(None)).await;
        };
        let choice = self.0.options.backend;
        let holders = &self.0.holders;
        if self.0.kernel.get().is_none() && choice == BackendChoice::Auto {
            // Trying the policy itself saves a trial of its own.
            let place = LaunchTarget::namespaces(cage.clone());
            let tried = holders.get(&place.key).await;
            let verdict = tried.as_ref().map(drop).map_err(ToString::to_string);
            // Another command may have found out meanwhile, which is the same.
            if let Err(why) = &verdict {
                tracing::warn!(why, "namespaces are not to be had");
            }
            let _ = self.0.kernel.set(KernelSupport::with_namespaces(verdict));
            if let Ok(held) = tried {
                return Ok(place.held_by(held));
            }
        }
        let kernel = self.0.kernel.get_or_init(|| KernelSupport::probe(choice));
        match kernel.backend(choice) {
            Ok(SandboxBackend::Namespaces) => self.hold(LaunchTarget::namespaces(cage)).await,
            Ok(SandboxBackend::Landlock) => self.hold(LaunchTarget::bare(Some(cage))).await,
            Err(why) => Err(refused(&why)),
        }
    }

    async fn hold(&self, place: LaunchTarget) -> Result<(LaunchTarget, Arc<Holder>), SpawnError> {
        match self.0.holders.get(&place.key).await {
            Ok(held) => Ok(place.held_by(held)),
            Err(HolderError::Io(error)) => Err(SpawnError::Io(error)),
            Err(error @ HolderError::Setup { .. }) => Err(refused(&error.to_string())),
        }
    }

    /// The rules for commands with a policy, if it has any.
    fn cage(
        &self,
        policy: &SandboxPolicy,
        cwd: &Path,
        env: &BTreeMap<String, String>,
    ) -> Option<Cage> {
        if *policy == SandboxPolicy::DangerFullAccess {
            return None;
        }
        let roots = writable_roots(policy, cwd, env);
        let Some(home) = &self.0.options.troupe_home else {
            return Some(Cage::new(roots, Vec::new()));
        };
        let hidden = home.canonicalize().into_iter().collect();
        let cage = Cage::new(roots.protecting_home(home), hidden);
        Some(cage.with_shown(self.shown_in_home()))
    }

    /// Returns what confined commands may read of the home. What a link there leads to lies
    /// elsewhere, and is hidden or not by where it lies.
    pub fn shown_in_home(&self) -> Vec<PathBuf> {
        let options = &self.0.options;
        let Some(home) = options
            .troupe_home
            .as_ref()
            .and_then(|home| home.canonicalize().ok())
        else {
            return Vec::new();
        };
        let names = options.home_shown.iter();
        let paths = names.map(|name| home.join(name));
        let is_real = |path: &PathBuf| {
            path.symlink_metadata()
                .is_ok_and(|metadata| metadata.is_dir())
        };
        paths.filter(is_real).collect()
    }
}

impl LaunchTarget {
    fn bare(cage: Option<Cage>) -> Self {
        Self {
            key: HolderKey::bare(),
            cage,
            nested: None,
        }
    }

    fn namespaces(cage: Cage) -> Self {
        // Mounts hide better than rules, which cost a look at every directory on the way.
        let hidden = Vec::new();
        Self {
            key: HolderKey::namespaces(cage.clone()),
            cage: Some(Cage { hidden, ..cage }),
            nested: None,
        }
    }

    fn held_by(self, PolicyHolder { holder, nested }: PolicyHolder) -> (Self, Arc<Holder>) {
        let cage = self.cage.map(|cage| cage.with_nested(&nested));
        let nested = cage.is_some().then_some(nested);
        let key = self.key;
        (Self { key, cage, nested }, holder)
    }
}

fn refused(why: &str) -> SpawnError {
    SpawnError::Refused {
        why: why.to_owned(),
        what_to_do: "run `troupe doctor` to see what is missing, or run in a container of your \
                     own with the policy danger-full-access"
            .to_owned(),
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

fn spawn_error(failure: StartFailure, request: CommandRequest) -> SpawnError {
    let program = || request.argv.first().cloned().unwrap_or_default();
    match failure {
        StartFailure::Holder(error) => SpawnError::Io(error),
        StartFailure::Stage(StartStage::WorkingDirectory, source) => SpawnError::WorkingDirectory {
            path: request.cwd,
            source,
        },
        StartFailure::Stage(StartStage::Execute, source)
            if source.kind() == io::ErrorKind::NotFound =>
        {
            SpawnError::NotFound { program: program() }
        }
        StartFailure::Stage(StartStage::Execute, source) => SpawnError::Execute {
            program: program(),
            source,
        },
        StartFailure::Stage(StartStage::Sandbox, source) => {
            refused(&format!("the kernel did not take its rules ({source})"))
        }
    }
}
