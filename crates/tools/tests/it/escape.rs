//! Ways for file tools around the policy, each tried for real with every path check switched off:
//! a worker is asked as the engine asks it, but to look at hidden files and to patch anywhere.
//!
//! Without a sandbox every attempt must succeed, or it would prove nothing; in the sandbox none
//! may, unless the report says that this backend cannot prevent it.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use image::{ImageFormat, RgbImage};
use nix::unistd::geteuid;
use serde_json::{Value, json};
use tempfile::TempDir;
use troupe_process::{
    BackendChoice, CommandSpec, Confinement, EnforcementState, Launcher, LauncherOptions, Process,
    ProcessEvent, StdinMode, WorkerSpec,
};
use troupe_protocol::command::OutputStream;
use troupe_protocol::policy::SandboxPolicy;

use crate::support::workspace_only;

const BACKENDS: [BackendChoice; 2] = [BackendChoice::Namespaces, BackendChoice::Landlock];
const PROTECTED: &str = ".git and .troupe directly in a writable root are read-only";
const NESTED: &str = ".git and .troupe deeper in a writable root are read-only";

/// `$OUTSIDE`, `$HOME` and `$ENGINE` stand for what is aimed at.
struct Attempt {
    name: &'static str,
    /// What a command of the session does first.
    prepare: &'static str,
    aim: Aim,
    /// The row of the report that answers for it where a backend may be too weak.
    row: Option<&'static str>,
}

enum Aim {
    /// Works if anything changes that must not.
    Patch(&'static str),
    /// Works if the answer contains the text.
    Look {
        tool: &'static str,
        path: &'static str,
        needle: &'static str,
    },
}

const fn patch(name: &'static str, prepare: &'static str, body: &'static str) -> Attempt {
    Attempt {
        name,
        prepare,
        aim: Aim::Patch(body),
        row: None,
    }
}

const fn protected(attempt: Attempt) -> Attempt {
    Attempt {
        row: Some(PROTECTED),
        ..attempt
    }
}

const fn nested(attempt: Attempt) -> Attempt {
    Attempt {
        row: Some(NESTED),
        ..attempt
    }
}

const fn look(name: &'static str, tool: &'static str, path: &'static str) -> Attempt {
    Attempt {
        name,
        prepare: "",
        aim: Aim::Look {
            tool,
            path,
            needle: "secret",
        },
        row: None,
    }
}

const fn picture(name: &'static str, path: &'static str) -> Attempt {
    Attempt {
        aim: Aim::Look {
            tool: "view_image",
            path,
            needle: "data:image/png",
        },
        ..look(name, "", "")
    }
}

const fn after(prepare: &'static str, attempt: Attempt) -> Attempt {
    Attempt { prepare, ..attempt }
}

const ATTEMPTS: &[Attempt] = &[
    patch("add outside", "", "*** Add File: ../outside/new\n+x\n"),
    patch(
        "overwrite outside",
        "",
        "*** Update File: $OUTSIDE/file\n@@\n-untouched\n+x\n",
    ),
    patch("delete outside", "", "*** Delete File: $OUTSIDE/file\n"),
    patch(
        "patch through a symlink",
        "ln -s $OUTSIDE link",
        "*** Add File: link/new\n+x\n",
    ),
    patch(
        "swap a directory for a symlink",
        "mkdir d && rmdir d && ln -s $OUTSIDE d",
        "*** Update File: d/file\n@@\n-untouched\n+x\n",
    ),
    patch(
        "move out",
        "echo x > mine",
        "*** Update File: mine\n*** Move to: $OUTSIDE/mine\n",
    ),
    patch(
        "move in",
        "",
        "*** Update File: $OUTSIDE/file\n*** Move to: mine\n",
    ),
    patch("add to the home", "", "*** Add File: $HOME/new\n+x\n"),
    protected(patch(
        "add a hook",
        "",
        "*** Add File: .git/hooks/pre-commit\n+x\n",
    )),
    protected(patch(
        "add a hook through a symlink",
        "ln -s .git/hooks hooks",
        "*** Add File: hooks/pre-commit\n+x\n",
    )),
    protected(patch(
        "change the project's configuration",
        "",
        "*** Update File: .troupe/config.toml\n@@\n-a = 1\n+a = 2\n",
    )),
    nested(patch(
        "add a hook of a repository inside",
        "",
        "*** Add File: sub/.git/hooks/pre-commit\n+x\n",
    )),
    nested(patch(
        "point a submodule elsewhere",
        "",
        "*** Update File: module/.git\n@@\n-gitdir: x\n+gitdir: y\n",
    )),
    look("read", "read_file", "$HOME/token"),
    after(
        "ln -s $HOME/token link",
        look("read through a symlink", "read_file", "link"),
    ),
    after(
        "ln $HOME/token hard || touch hard",
        look("read through a hard link", "read_file", "hard"),
    ),
    look(
        "read by /proc/self/root",
        "read_file",
        "/proc/self/root$HOME/token",
    ),
    look(
        "read by the engine's root",
        "read_file",
        "/proc/$ENGINE/root$HOME/token",
    ),
    look("search", "grep_files", "$HOME"),
    after(
        "ln -s $HOME/token link",
        look("search through a symlink", "grep_files", "link"),
    ),
    look(
        "search by /proc/self/root",
        "grep_files",
        "/proc/self/root$HOME",
    ),
    picture("view", "$HOME/picture.png"),
    after(
        "ln -s $HOME/picture.png link",
        picture("view through a symlink", "link"),
    ),
    picture(
        "view by /proc/self/root",
        "/proc/self/root$HOME/picture.png",
    ),
    look("read by planning to delete", "plan_patch", "$HOME/token"),
];

/// What attempts are aimed at.
struct Target {
    place: TempDir,
    launcher: Launcher,
}

impl Target {
    fn new(backend: BackendChoice) -> Self {
        // Outside of every temporary root.
        let place = tempfile::tempdir_in("/var/tmp").unwrap();
        let write = |path: &str, content: &[u8]| {
            let path = place.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        write("outside/file", b"untouched\n");
        write("work/.git/hooks/sample", b"");
        write("work/.troupe/config.toml", b"a = 1\n");
        write("work/sub/.git/hooks/sample", b"");
        write("work/module/.git", b"gitdir: x\n");
        write("home/token", b"secret\n");
        let mut picture = Cursor::new(Vec::new());
        let pixels = RgbImage::new(1, 1);
        pixels.write_to(&mut picture, ImageFormat::Png).unwrap();
        write("home/picture.png", &picture.into_inner());
        let launcher = Launcher::new(LauncherOptions {
            backend,
            troupe_home: Some(place.path().join("home")),
            ..LauncherOptions::default()
        });
        Self { place, launcher }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn fill(&self, text: &str) -> String {
        text.replace("$OUTSIDE", &self.at("outside").display().to_string())
            .replace("$HOME", &self.at("home").display().to_string())
            .replace("$ENGINE", &std::process::id().to_string())
    }

    fn confinement(&self, policy: &SandboxPolicy) -> Confinement {
        Confinement::Policy {
            policy: policy.clone(),
            cwd: self.at("work"),
        }
    }

    async fn prepare(&self, script: &str, policy: &SandboxPolicy) {
        let spec = CommandSpec {
            argv: vec!["/bin/bash".into(), "-c".into(), self.fill(script)],
            cwd: self.at("work"),
            env: BTreeMap::from([("PATH".into(), "/usr/bin:/bin".into())]),
            confinement: self.confinement(policy),
            terminal: None,
            stdin: StdinMode::Null,
        };
        let mut process = self.launcher.spawn(spec).await.unwrap();
        let (output, code) = finish(&mut process).await;
        assert_eq!(code, Some(0), "{script}: {output}");
    }

    /// Asks a worker as the engine would; `Err` is what the model would be told.
    async fn ask(&self, request: &Value, policy: &SandboxPolicy) -> Result<Value, String> {
        let worker = WorkerSpec {
            name: "troupe-files",
            env: BTreeMap::new(),
            confinement: self.confinement(policy),
        };
        let mut process = self.launcher.spawn_worker(worker).await.unwrap();
        let request = request.to_string();
        process.write_stdin(request.as_bytes()).await.unwrap();
        process.close_stdin();
        let (output, code) = finish(&mut process).await;
        assert_eq!(code, Some(0), "{request}: {output}");
        match serde_json::from_str::<Value>(&output).unwrap() {
            answer if answer.get("Ok").is_some() => Ok(answer["Ok"].clone()),
            answer => Err(answer["Err"].as_str().unwrap().to_owned()),
        }
    }

    fn planning(&self, body: &str) -> Value {
        json!({
            "body": self.fill(&format!("*** Begin Patch\n{body}*** End Patch\n")),
            "cwd": self.at("work"),
            "roots": "unrestricted",
        })
    }

    /// Everything that no patch may change.
    fn treasure(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let directories = [
            "outside",
            "home",
            "work/.git",
            "work/.troupe",
            "work/sub/.git",
        ];
        for directory in directories {
            collect(&self.at(directory), &mut files);
        }
        let pointer = self.at("work/module/.git");
        files.insert(pointer.clone(), std::fs::read(pointer).unwrap());
        files
    }
}

fn collect(directory: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.insert(path.clone(), std::fs::read(path).unwrap());
        }
    }
}

async fn finish(process: &mut Process) -> (String, Option<i32>) {
    let mut output = Vec::new();
    loop {
        match process.next().await.expect("an exit comes last") {
            ProcessEvent::Output {
                stream: OutputStream::Stdout | OutputStream::Stderr,
                bytes,
            } => output.extend_from_slice(&bytes),
            ProcessEvent::Exited(exit) => {
                return (String::from_utf8_lossy(&output).into_owned(), exit.code);
            }
        }
    }
}

async fn escapes(attempt: &Attempt, backend: BackendChoice, policy: &SandboxPolicy) -> bool {
    let target = Target::new(backend);
    target.prepare(attempt.prepare, policy).await;
    match &attempt.aim {
        Aim::Patch(body) => {
            let before = target.treasure();
            let mut applying = target.planning(body);
            let planning = json!(["plan_patch", applying]);
            let planned = target
                .ask(&planning, &SandboxPolicy::DangerFullAccess)
                .await
                .unwrap();
            applying["found"] = planned["found"].clone();
            let applying = json!(["apply_patch", applying]);
            let is_told_so = target.ask(&applying, policy).await.is_ok();
            let has_changed = target.treasure() != before;
            assert_eq!(
                is_told_so, has_changed,
                "{}: the answer is true",
                attempt.name
            );
            has_changed
        }
        Aim::Look { tool, path, needle } => {
            let path = target.at("work").join(target.fill(path));
            let request = match *tool {
                "plan_patch" => target.planning(&format!("*** Delete File: {}\n", path.display())),
                "grep_files" => json!({
                    "root": path, "hidden": {}, "arguments": {"pattern": "secret"},
                }),
                "read_file" => json!({
                    "path": path, "hidden": {}, "slice": {"first": 1, "count": 1},
                }),
                _ => json!({"path": path, "hidden": {}}),
            };
            // What only reads is confined to reading.
            let policy = match policy {
                SandboxPolicy::DangerFullAccess => policy.clone(),
                _ => SandboxPolicy::read_only(),
            };
            let told = target.ask(&json!([tool, request]), &policy).await;
            // A search that finds nothing repeats the pattern.
            told.is_ok_and(|told| {
                let text = told.to_string();
                text.contains(needle) && !text.contains("no line below")
            })
        }
    }
}

fn is_enforced(backend: BackendChoice, row: Option<&str>) -> bool {
    let launcher = Launcher::new(LauncherOptions {
        backend,
        ..LauncherOptions::default()
    });
    let report = launcher.report();
    let mut rows = report.rows().iter().filter(|it| Some(it.feature) == row);
    rows.all(|it| matches!(it.state, EnforcementState::Enforced { .. }))
}

#[tokio::test]
async fn every_attempt_works_without_a_sandbox_and_none_within() {
    let mut wrong = Vec::new();
    for attempt in ATTEMPTS {
        let free = SandboxPolicy::DangerFullAccess;
        if !escapes(attempt, BackendChoice::Auto, &free).await {
            wrong.push(format!("{}: proves nothing", attempt.name));
        }
        for backend in BACKENDS {
            let escapes = escapes(attempt, backend, &workspace_only()).await;
            if escapes == is_enforced(backend, attempt.row) {
                wrong.push(format!("{}: escapes {backend:?}: {escapes}", attempt.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Containers and services often run under a number that no account belongs to.
#[test]
fn all_of_it_again_as_a_bare_numeric_user() {
    use std::os::unix::process::CommandExt as _;
    const NOBODY_IN_PARTICULAR: u32 = 4242;
    if !geteuid().is_root() {
        eprintln!("not run: only root can become another user");
        return;
    }
    // Where the test lies, the other user may not be let in.
    let (_dir, this) = reachable_copy();
    let output = Command::new(this)
        .args(["escape::", "edits::", "files::", "images::"])
        .uid(NOBODY_IN_PARTICULAR)
        .gid(NOBODY_IN_PARTICULAR)
        .current_dir("/")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{stdout}");
    assert!(stdout.contains("every_attempt_works_without_a_sandbox_and_none_within ... ok"));
}

fn reachable_copy() -> (tempfile::TempDir, std::path::PathBuf) {
    use std::os::unix::fs::PermissionsExt as _;
    let everybody = std::fs::Permissions::from_mode(0o755);
    let dir = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(dir.path(), everybody).unwrap();
    let copy = dir.path().join("it");
    std::fs::copy("/proc/self/exe", &copy).unwrap();
    (dir, copy)
}
