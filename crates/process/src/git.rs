//! Git that looks at somebody's repository for the engine, and runs nothing that it names.
//!
//! A repository says which programs git starts: filters, monitors, hooks, what fetches objects that
//! are missing. Whoever wrote it must not choose what runs here. So the names of its filters are
//! asked for first, which starts nothing, and each is then switched off; all others have a switch
//! of their own. What a future git may add is held by the kernel: it reads, without a network, and
//! ends with its owner like every command.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::timeout;
use troupe_protocol::command::OutputStream;
use troupe_protocol::policy::SandboxPolicy;

use crate::launcher::{Launcher, SpawnError};
use crate::limits::{
    GIT_COMPLAINT_BYTES_MAX, GIT_FILTERS_MAX, GIT_OUTPUT_BYTES_MAX, GIT_TIME_MS_MAX,
};
use crate::process::{Process, ProcessEvent};
use crate::spec::{CommandSpec, Confinement, StdinMode};

/// Variables that git needs to be found, and to find what its user says of ignored files.
const PASSED_ON: [&str; 3] = ["PATH", "HOME", "XDG_CONFIG_HOME"];

/// No transport and no questions, whatever remotes and credentials a repository has.
const FIXED: [(&str, &str); 6] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("LC_ALL", "C"),
];

/// Settings that name programs, with what stands for none.
const SWITCHED_OFF: [(&str, &str); 5] = [
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.sshCommand", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
];

/// Why a git came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git cannot be run: {0}")]
    Spawn(#[from] SpawnError),
    #[error("git took longer than {} s and was ended", GIT_TIME_MS_MAX / 1000)]
    TooLong,
    #[error("git printed more than {} MiB and was ended", GIT_OUTPUT_BYTES_MAX >> 20)]
    TooMuch,
    #[error("the repository configures more than {GIT_FILTERS_MAX} filters; remove some")]
    TooManyFilters,
}

/// What a git came to. One that was killed has no code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitOutput {
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    /// As much of it as a message can hold.
    pub stderr: String,
}

/// Reads the repository around a directory.
#[derive(Debug, Clone)]
pub struct GitReader {
    launcher: Launcher,
    cwd: PathBuf,
    env: BTreeMap<String, String>,
    confinement: Confinement,
}

impl GitReader {
    /// Reads a work tree with a git directory of the engine's own in the place of the
    /// repository's: of the repository's configuration nothing counts, nor of its user's. That
    /// directory is all that it may write.
    pub fn with_directory(
        launcher: Launcher,
        directory: &Path,
        work_tree: &Path,
        inherited: &BTreeMap<String, String>,
    ) -> Self {
        let own = [
            ("GIT_DIR", &*directory.to_string_lossy()),
            // Where it starts; a name that is not text could not be said in a variable.
            ("GIT_WORK_TREE", "."),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut env = variables(inherited);
        env.extend(own);
        env.extend(switched_off(&BTreeSet::new()));
        Self {
            launcher,
            cwd: work_tree.to_owned(),
            env,
            confinement: Confinement::Policy {
                policy: SandboxPolicy::WorkspaceWrite {
                    writable_roots: Vec::new(),
                    network_access: false,
                    exclude_tmpdir_env_var: true,
                    exclude_slash_tmp: true,
                },
                cwd: directory.to_owned(),
            },
        }
    }

    /// Has it use another file as the index.
    pub fn with_index(mut self, index: &Path) -> Self {
        let index = index.to_string_lossy().into_owned();
        self.env.insert("GIT_INDEX_FILE".to_owned(), index);
        self
    }

    /// Asks for the filters of the repository. Of the variables only those count that git is found
    /// by. It must be called in a tokio runtime.
    pub async fn open(
        launcher: Launcher,
        cwd: &Path,
        inherited: &BTreeMap<String, String>,
    ) -> Result<Self, GitError> {
        let mut reader = Self {
            launcher,
            cwd: cwd.to_path_buf(),
            env: variables(inherited),
            confinement: Confinement::Policy {
                policy: SandboxPolicy::read_only(),
                cwd: cwd.to_path_buf(),
            },
        };
        let listed = reader.run(&["config", "--list", "--name-only", "-z"]);
        let filters = filters(&listed.await?.stdout);
        if filters.len() > GIT_FILTERS_MAX {
            return Err(GitError::TooManyFilters);
        }
        reader.env.extend(switched_off(&filters));
        Ok(reader)
    }

    /// Runs git to its end. Differences need `--no-ext-diff` and `--no-textconv`.
    pub async fn run(&self, arguments: &[&str]) -> Result<GitOutput, GitError> {
        let mut process = self.start(arguments, StdinMode::Null).await?;
        let time = Duration::from_millis(GIT_TIME_MS_MAX);
        let finished = timeout(time, finish(&mut process)).await;
        // Dropping the process ends it.
        finished.map_err(|_| GitError::TooLong)?
    }

    /// Starts git for who talks with it; its time and what it prints are then theirs to bound.
    pub async fn start(&self, arguments: &[&str], stdin: StdinMode) -> Result<Process, GitError> {
        let argv = ["git", "--no-pager"].iter().chain(arguments);
        let spec = CommandSpec {
            argv: argv.map(|word| (*word).to_owned()).collect(),
            cwd: self.cwd.clone(),
            env: self.env.clone(),
            confinement: self.confinement.clone(),
            terminal: None,
            stdin,
        };
        Ok(self.launcher.spawn(spec).await?)
    }
}

/// The variables of every git: few of those that are inherited, and those that are fixed.
fn variables(inherited: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let passed_on = PASSED_ON.iter().filter_map(|name| {
        let value = inherited.get(*name)?;
        Some(((*name).to_owned(), value.clone()))
    });
    let fixed = FIXED.map(|(name, value)| (name.to_owned(), value.to_owned()));
    passed_on.chain(fixed).collect()
}

async fn finish(process: &mut Process) -> Result<GitOutput, GitError> {
    let mut output = GitOutput {
        code: None,
        stdout: Vec::new(),
        stderr: String::new(),
    };
    let mut complaint = Vec::new();
    while let Some(event) = process.next().await {
        match event {
            ProcessEvent::Output { stream, bytes } => match stream {
                OutputStream::Stdout => output.stdout.extend_from_slice(&bytes),
                OutputStream::Stderr => {
                    let room = GIT_COMPLAINT_BYTES_MAX.saturating_sub(complaint.len());
                    complaint.extend_from_slice(&bytes[..bytes.len().min(room)]);
                }
            },
            ProcessEvent::Exited(exit) => output.code = exit.code,
        }
        if output.stdout.len() > GIT_OUTPUT_BYTES_MAX {
            return Err(GitError::TooMuch);
        }
    }
    output.stderr = String::from_utf8_lossy(&complaint).into_owned();
    Ok(output)
}

/// Returns the names of filters in a list of settings. A name may have dots, and bytes that no
/// variable can say again: such a one is left to the kernel.
fn filters(listed: &[u8]) -> BTreeSet<String> {
    let settings = listed.split(|byte| *byte == 0);
    let settings = settings.filter_map(|setting| str::from_utf8(setting).ok());
    let names = settings.filter_map(|it| Some(it.strip_prefix("filter.")?.rsplit_once('.')?.0));
    names.map(ToOwned::to_owned).collect()
}

/// Returns the variables by which git takes settings over those of every file.
fn switched_off(filters: &BTreeSet<String>) -> BTreeMap<String, String> {
    let fixed = SWITCHED_OFF.map(|(name, value)| (name.to_owned(), value));
    let of_filters = filters.iter().flat_map(|name| {
        let off = [
            ("clean", ""),
            ("smudge", ""),
            ("process", ""),
            ("required", "false"),
        ];
        off.map(|(key, value)| (format!("filter.{name}.{key}"), value))
    });
    let settings: Vec<_> = fixed.into_iter().chain(of_filters).collect();
    let count = ("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string());
    let numbered = settings.into_iter().enumerate();
    let pairs = numbered.flat_map(|(number, (name, value))| {
        [
            (format!("GIT_CONFIG_KEY_{number}"), name),
            (format!("GIT_CONFIG_VALUE_{number}"), value.to_owned()),
        ]
    });
    pairs.chain([count]).collect()
}
