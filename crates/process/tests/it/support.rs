//! Short ways to say what a test runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use troupe_process::{
    BackendChoice, CommandSpec, Confinement, Launcher, LauncherOptions, Process, ProcessEvent,
    ProcessExit, StdinMode,
};
use troupe_protocol::command::OutputStream;
use troupe_protocol::policy::SandboxPolicy;

pub fn launcher() -> Launcher {
    Launcher::new(LauncherOptions::default())
}

/// Every backend that this machine must have for the tests to mean anything.
pub const BACKENDS: [BackendChoice; 2] = [BackendChoice::Namespaces, BackendChoice::Landlock];

pub fn launcher_with(backend: BackendChoice) -> Launcher {
    Launcher::new(LauncherOptions {
        backend,
        ..LauncherOptions::default()
    })
}

/// A `bash -c` command that starts in the root directory, unconfined.
pub fn bash(script: &str) -> CommandSpec {
    CommandSpec {
        argv: ["bash", "-c", script].map(String::from).to_vec(),
        cwd: "/".into(),
        env: BTreeMap::from([("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]),
        confinement: Confinement::Unconfined,
        terminal: None,
        stdin: StdinMode::Null,
    }
}

/// The same in a workspace, under a policy.
pub fn confined(script: &str, policy: SandboxPolicy, cwd: &Path) -> CommandSpec {
    CommandSpec {
        cwd: cwd.to_path_buf(),
        confinement: Confinement::Policy {
            policy,
            cwd: cwd.to_path_buf(),
        },
        ..bash(script)
    }
}

/// `workspace-write` without the temporary directories, in which test directories may lie.
pub fn workspace_only() -> SandboxPolicy {
    SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access: false,
        exclude_tmpdir_env_var: true,
        exclude_slash_tmp: true,
    }
}

/// What a finished command printed and how it ended.
#[derive(Debug)]
pub struct Finished {
    pub stdout: String,
    pub stderr: String,
    pub exit: ProcessExit,
}

pub async fn run(spec: CommandSpec) -> Finished {
    run_with(&launcher(), spec).await
}

pub async fn run_with(launcher: &Launcher, spec: CommandSpec) -> Finished {
    let mut process = launcher.spawn(spec).await.expect("the command starts");
    finish(&mut process).await
}

pub async fn finish(process: &mut Process) -> Finished {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    loop {
        match within(process.next()).await.expect("an exit comes last") {
            ProcessEvent::Output { stream, bytes } => match stream {
                OutputStream::Stdout => stdout.extend_from_slice(&bytes),
                OutputStream::Stderr => stderr.extend_from_slice(&bytes),
            },
            ProcessEvent::Exited(exit) => {
                assert_eq!(process.next().await, None, "nothing follows an exit");
                return Finished {
                    stdout: String::from_utf8_lossy(&stdout).into_owned(),
                    stderr: String::from_utf8_lossy(&stderr).into_owned(),
                    exit,
                };
            }
        }
    }
}

/// Reads on until the output so far ends the way `is_enough` wants it.
pub async fn read_until(process: &mut Process, is_enough: impl Fn(&str) -> bool) -> String {
    let mut text = String::new();
    while !is_enough(&text) {
        match within(process.next()).await {
            Some(ProcessEvent::Output { bytes, .. }) => {
                text.push_str(&String::from_utf8_lossy(&bytes));
            }
            other => panic!("{other:?} after {text:?}"),
        }
    }
    text
}

/// Fails a test that hangs instead of hanging with it.
pub async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), future)
        .await
        .expect("it happens within a minute")
}

/// Waits until a process has ended; a zombie has.
pub async fn gone(pid: i32) {
    within(async {
        while is_alive(pid) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

pub fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    match stat.rsplit_once(") ") {
        Some((_, rest)) => !rest.starts_with('Z'),
        None => false,
    }
}

/// A directory outside every temporary root.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

pub fn write(path: PathBuf, text: &str) -> PathBuf {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}
