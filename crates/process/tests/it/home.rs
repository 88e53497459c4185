//! The engine's own directory below a writable root: who could write it would choose the rights
//! of the next session.

use std::path::{Path, PathBuf};

use troupe_process::{BackendChoice, CommandSpec, Launcher, LauncherOptions};
use troupe_protocol::policy::SandboxPolicy;

use crate::support::{BACKENDS, Finished, confined, run_with, scratch, write};

/// Each prints `escaped` when it got what it wanted.
const ATTEMPTS: [&str; 16] = [
    "cat $TROUPE_HOME/token && echo escaped",
    "echo x > $TROUPE_HOME/config.toml && echo escaped",
    "echo x >> $TROUPE_HOME/config.toml && echo escaped",
    "echo x > $TROUPE_HOME/new && echo escaped",
    "truncate -s 0 $TROUPE_HOME/config.toml && echo escaped",
    "rm $TROUPE_HOME/config.toml && echo escaped",
    "mkdir $TROUPE_HOME/roles && echo escaped",
    "echo x > ours && mv ours $TROUPE_HOME/config.toml && echo escaped",
    "mv $TROUPE_HOME/token stolen && echo escaped",
    "mv $TROUPE_HOME $TROUPE_HOME.old && echo escaped",
    "mv $AROUND $AROUND.old && mkdir -p $TROUPE_HOME && echo escaped",
    "ln $TROUPE_HOME/token hard && cat hard && echo escaped",
    "ln -s $TROUPE_HOME soft && cat soft/token && echo escaped",
    "cat $ROOT/link-to-root/$BELOW/token && echo escaped",
    "echo x > $ROOT/link-to-home/config.toml && echo escaped",
    "echo x > /proc/self/root$TROUPE_HOME/config.toml && echo escaped",
];

/// Where the home lies.
#[derive(Debug, Clone, Copy)]
enum Placement {
    /// As `/tmp/x/home` does while `/tmp` is writable.
    DeepInARoot,
    /// As `~/.troupe` does while somebody works in `~`.
    InTheWorkingDirectory,
}

const PLACEMENTS: [Placement; 2] = [Placement::DeepInARoot, Placement::InTheWorkingDirectory];

/// A writable root with a home, and directories in which links lead astray.
struct Root {
    _place: tempfile::TempDir,
    path: PathBuf,
    below: &'static str,
    work: PathBuf,
}

impl Root {
    fn new(placement: Placement) -> Self {
        let place = scratch();
        let root = place.path().canonicalize().unwrap().join("root");
        let (below, work) = match placement {
            Placement::DeepInARoot => ("x/y/home", root.join("x/y/work")),
            Placement::InTheWorkingDirectory => (".troupe", root.clone()),
        };
        std::fs::create_dir_all(&work).unwrap();
        write(root.join(below).join("token"), "secret");
        write(root.join(below).join("config.toml"), "untouched");
        for (name, target) in [("link-to-root", "."), ("link-to-home", below)] {
            std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        }
        Self {
            _place: place,
            path: root,
            below,
            work,
        }
    }

    fn home(&self) -> PathBuf {
        self.path.join(self.below)
    }

    fn policy(&self) -> SandboxPolicy {
        SandboxPolicy::WorkspaceWrite {
            writable_roots: vec![self.path.clone()],
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        }
    }

    fn spec(&self, script: &str, policy: SandboxPolicy, cwd: &Path) -> CommandSpec {
        let mut spec = confined(script, policy, cwd);
        let around = self.home().parent().unwrap().display().to_string();
        let variables = [
            ("TROUPE_HOME", self.home().display().to_string()),
            ("AROUND", around),
            ("ROOT", self.path.display().to_string()),
            ("BELOW", self.below.to_owned()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value));
        spec.env.extend(variables);
        spec
    }

    async fn run(&self, backend: BackendChoice, script: &str, policy: SandboxPolicy) -> Finished {
        self.run_in(&self.work, backend, script, policy).await
    }

    async fn run_in(
        &self,
        cwd: &Path,
        backend: BackendChoice,
        script: &str,
        policy: SandboxPolicy,
    ) -> Finished {
        let launcher = Launcher::new(LauncherOptions {
            backend,
            troupe_home: Some(self.home()),
            home_shown: vec!["shown".into()],
        });
        run_with(&launcher, self.spec(script, policy, cwd)).await
    }

    fn is_untouched(&self) -> bool {
        let read = |name| std::fs::read_to_string(self.home().join(name)).unwrap_or_default();
        let is_new = |name| self.home().join(name).exists();
        read("token") == "secret"
            && read("config.toml") == "untouched"
            && !is_new("new")
            && !is_new("roles")
    }
}

#[tokio::test]
async fn every_attempt_on_it_works_without_a_sandbox_and_none_within() {
    let mut wrong = Vec::new();
    for placement in PLACEMENTS {
        for script in ATTEMPTS {
            let root = Root::new(placement);
            let free = SandboxPolicy::DangerFullAccess;
            let done = root.run(BackendChoice::Landlock, script, free).await;
            if !done.stdout.contains("escaped") {
                wrong.push(format!("{placement:?}: {script}: proves nothing: {done:?}"));
            }
            for backend in BACKENDS {
                let root = Root::new(placement);
                let done = root.run(backend, script, root.policy()).await;
                if done.stdout.contains("escaped") || !root.is_untouched() {
                    wrong.push(format!("{placement:?}: {backend:?}: {script}: {done:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn it_is_guarded_before_it_exists() {
    for placement in PLACEMENTS {
        for backend in BACKENDS {
            let root = Root::new(placement);
            std::fs::remove_dir_all(root.home()).unwrap();
            let script = "mkdir -p $TROUPE_HOME; echo x > $TROUPE_HOME/config.toml";
            let done = root.run(backend, script, root.policy()).await;
            let is_there = root.home().join("config.toml").exists();
            assert!(!is_there, "{placement:?} {backend:?}: {done:?}");
        }
    }
}

#[tokio::test]
async fn a_write_to_it_is_told_as_a_denial() {
    for placement in PLACEMENTS {
        for backend in BACKENDS {
            let root = Root::new(placement);
            let script = "echo x > $TROUPE_HOME/config.toml";
            let done = root.run(backend, script, root.policy()).await;
            let told = done.exit.denial.map(|it| it.what);
            let expected = format!("write to {}/config.toml", root.home().display());
            assert_eq!(told, Some(expected), "{placement:?} {backend:?}");
        }
    }
}

/// Agents get checkouts of their own inside the home.
#[tokio::test]
async fn a_working_directory_inside_it_is_writable_all_the_same() {
    for placement in PLACEMENTS {
        for backend in BACKENDS {
            let root = Root::new(placement);
            let work = root.home().join("worktrees/w");
            std::fs::create_dir_all(&work).unwrap();
            let script = "echo x > file && cat file; cat $TROUPE_HOME/token";
            let done = root.run_in(&work, backend, script, root.policy()).await;
            assert_eq!(done.stdout, "x\n", "{placement:?} {backend:?}: {done:?}");
            assert!(work.join("file").exists() && root.is_untouched());
        }
    }
}

#[tokio::test]
async fn what_is_shown_of_it_can_be_read_and_not_written() {
    for placement in PLACEMENTS {
        for backend in BACKENDS {
            let root = Root::new(placement);
            write(root.home().join("shown/deep/file"), "seen");
            std::os::unix::fs::symlink("../token", root.home().join("shown/link")).unwrap();
            let script = "cd $TROUPE_HOME/shown && cat deep/file link ../token; \
                          echo x > deep/file; echo x > new; mv deep moved; rm -r deep";
            for policy in [root.policy(), SandboxPolicy::read_only()] {
                let done = root.run(backend, script, policy).await;
                assert_eq!(done.stdout, "seen", "{placement:?} {backend:?}: {done:?}");
            }
            let shown = root.home().join("shown");
            let kept = std::fs::read_to_string(shown.join("deep/file")).unwrap();
            assert_eq!((kept.as_str(), shown.join("new").exists()), ("seen", false));
            assert!(root.is_untouched());
        }
    }
}

#[tokio::test]
async fn what_lies_beside_it_stays_writable() {
    for placement in PLACEMENTS {
        for backend in BACKENDS {
            let root = Root::new(placement);
            write(root.path.join("beside/file"), "");
            let script = "echo x > $ROOT/beside/new && echo y > $ROOT/beside/file && echo done";
            let done = root.run(backend, script, root.policy()).await;
            assert_eq!(done.stdout, "done\n", "{placement:?} {backend:?}: {done:?}");
        }
    }
}

/// Landlock cannot keep a single entry of a directory from those who may make new ones there.
#[tokio::test]
async fn only_mounts_let_new_files_be_made_directly_beside_it() {
    for backend in BACKENDS {
        let root = Root::new(Placement::InTheWorkingDirectory);
        let done = root.run(backend, "echo x > new", root.policy()).await;
        let is_possible = backend == BackendChoice::Namespaces;
        assert_eq!(done.exit.is_success(), is_possible, "{done:?}");
        let told = done.exit.denial.map(|it| it.what);
        let expected = format!("write to {}/new", root.path.display());
        assert_eq!(told, (!is_possible).then_some(expected));
    }
}
