//! Ways out of the sandbox, each tried for real.
//!
//! An attempt prints `escaped` when it got what it wanted. Without a sandbox every one must, or
//! it would prove nothing; in the sandbox none may, unless the report says that this backend
//! cannot prevent it.

use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::unistd::geteuid;
use troupe_process::{
    BackendChoice, CommandSpec, Confinement, EnforcementState, Launcher, LauncherOptions, Process,
};
use troupe_protocol::policy::SandboxPolicy;

use crate::support::{BACKENDS, bash, run_with, scratch, workspace_only, write};

struct Attempt {
    name: &'static str,
    script: &'static str,
    needs: Needs,
    /// The row of the report that answers for it where a backend may be too weak.
    row: Option<&'static str>,
}

#[derive(PartialEq)]
enum Needs {
    Nobody,
    Root,
}

const fn attempt(name: &'static str, script: &'static str) -> Attempt {
    Attempt {
        name,
        script,
        needs: Needs::Nobody,
        row: None,
    }
}

const fn weaker(attempt: Attempt, row: &'static str) -> Attempt {
    Attempt {
        row: Some(row),
        ..attempt
    }
}

const fn as_root(attempt: Attempt) -> Attempt {
    Attempt {
        needs: Needs::Root,
        ..attempt
    }
}

const PROTECTED: &str = ".git and .troupe directly in a writable root are read-only";
const NESTED: &str = ".git and .troupe deeper in a writable root are read-only";
const SOCKETS: &str = "Unix sockets of others, by path";
const METADATA: &str = "modes, owners and times outside the writable roots";

const ATTEMPTS: &[Attempt] = &[
    attempt(
        "write by relative path",
        "echo x > ../outside/new && echo escaped",
    ),
    attempt("overwrite", "echo x > $OUTSIDE/file && echo escaped"),
    attempt("append", "echo x >> $OUTSIDE/file && echo escaped"),
    attempt("truncate", "truncate -s 0 $OUTSIDE/file && echo escaped"),
    attempt("delete", "rm -f $OUTSIDE/file && echo escaped"),
    attempt(
        "write through a symlink",
        "ln -s $OUTSIDE link && echo x > link/new && echo escaped",
    ),
    attempt(
        "write through a hard link",
        "ln $OUTSIDE/file hard && echo x >> hard && echo escaped",
    ),
    attempt(
        "write by /proc/self/root",
        "echo x > /proc/self/root$OUTSIDE/new && echo escaped",
    ),
    attempt(
        "write by /proc/self/cwd",
        "echo x > /proc/self/cwd/../outside/new && echo escaped",
    ),
    attempt("move in, then write", "mv $OUTSIDE/file . && echo escaped"),
    attempt(
        "move out",
        "echo x > mine && mv -n mine $OUTSIDE/mine && echo escaped",
    ),
    attempt(
        "swap a directory for a symlink",
        "mkdir d; rmdir d; ln -s $OUTSIDE d; \
        cp /etc/passwd d/new && echo escaped",
    ),
    weaker(
        attempt("change a mode", "chmod 777 $OUTSIDE/file && echo escaped"),
        METADATA,
    ),
    weaker(
        attempt(
            "change a time",
            "touch -d yesterday $OUTSIDE/file && echo escaped",
        ),
        METADATA,
    ),
    weaker(
        attempt(
            "write a hook",
            "echo x > .git/hooks/pre-commit && echo escaped",
        ),
        PROTECTED,
    ),
    weaker(
        attempt("move .git away", "mv .git g && echo escaped"),
        PROTECTED,
    ),
    weaker(
        attempt(
            "write .troupe",
            "echo x > .troupe/config.toml && echo escaped",
        ),
        PROTECTED,
    ),
    weaker(
        attempt(
            "configure a repository inside",
            "git -C sub config core.fsmonitor $PWD/evil && echo escaped",
        ),
        NESTED,
    ),
    weaker(
        attempt(
            "write a hook of a repository inside",
            "echo x > deep/er/sub/.git/hooks/pre-commit && echo escaped",
        ),
        NESTED,
    ),
    weaker(
        attempt(
            "write .troupe of a project inside",
            "echo x > deep/er/.troupe/config.toml && echo escaped",
        ),
        NESTED,
    ),
    weaker(
        attempt(
            "move .git of a repository inside away",
            "mv sub/.git sub/g && echo escaped",
        ),
        NESTED,
    ),
    weaker(
        attempt(
            "delete .git of a repository inside",
            "rm -rf sub/.git; test ! -e sub/.git/config && echo escaped",
        ),
        NESTED,
    ),
    weaker(
        attempt(
            "move a repository inside away and make it again",
            "mv sub away && mkdir sub && cp -r away/.git sub/ && \
            git -C sub config core.fsmonitor $PWD/evil && echo escaped",
        ),
        NESTED,
    ),
    weaker(
        attempt(
            "move the directory around it away and make it again",
            "mv deep away && cp -r away deep && echo x > deep/er/sub/.git/config && echo escaped",
        ),
        NESTED,
    ),
    weaker(
        attempt(
            "point a submodule elsewhere",
            "echo gitdir: $PWD/evil > module/.git && echo escaped",
        ),
        NESTED,
    ),
    weaker(
        attempt(
            "replace the pointer of a submodule",
            "echo gitdir: $PWD/evil > new && mv -f new module/.git && echo escaped",
        ),
        NESTED,
    ),
    weaker(
        attempt(
            "configure the repository of a submodule",
            "git -C module config core.fsmonitor $PWD/evil && echo escaped",
        ),
        PROTECTED,
    ),
    weaker(
        attempt(
            "configure the repository of a worktree inside",
            "git -C tree config core.fsmonitor $PWD/evil && echo escaped",
        ),
        NESTED,
    ),
    weaker(
        attempt(
            "configure a repository inside through a symlink",
            "ln -s sub/.git link && echo x >> link/config && echo escaped",
        ),
        NESTED,
    ),
    attempt(
        "read the token",
        "cat $TROUPE_HOME/token | grep -q secret && echo escaped",
    ),
    attempt(
        "link to the token",
        "ln $TROUPE_HOME/token t && cat t | grep -q secret && echo escaped",
    ),
    attempt(
        "write in the home",
        "echo x > $TROUPE_HOME/new && echo escaped",
    ),
    attempt(
        "connect by TCP",
        "python3 -c \"import socket, os; \
        socket.create_connection(('127.0.0.1', int(os.environ['TCP'])))\" && echo escaped",
    ),
    attempt(
        "send by UDP",
        "python3 -c \"import socket; \
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))\" \
        && echo escaped",
    ),
    attempt(
        "listen on TCP",
        "python3 -c \"import socket; \
        socket.create_server(('127.0.0.1', 0))\" && echo escaped",
    ),
    attempt(
        "netlink",
        "python3 -c \"import socket; \
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)\" && echo escaped",
    ),
    weaker(
        attempt(
            "the socket of another program",
            "python3 -c \"import socket, os; \
        socket.socket(socket.AF_UNIX).connect(os.environ['SOCKET'])\" && echo escaped",
        ),
        SOCKETS,
    ),
    weaker(
        attempt(
            "the socket of the engine",
            "python3 -c \"import socket, os; \
        socket.socket(socket.AF_UNIX).connect(os.environ['TROUPE_HOME'] + '/sock')\" \
        && echo escaped",
        ),
        SOCKETS,
    ),
    attempt(
        "an abstract socket",
        "python3 -c \"import socket, os; \
        socket.socket(socket.AF_UNIX).connect(chr(0) + os.environ['ABSTRACT'])\" && echo escaped",
    ),
    attempt("signal the engine", "kill -0 $ENGINE && echo escaped"),
    attempt(
        "signal a sibling's command",
        "kill -0 $SIBLING && echo escaped",
    ),
    attempt(
        "ptrace a sibling",
        "python3 -c \"import ctypes, os, sys; \
        sys.exit(ctypes.CDLL(None).ptrace(0x4206, int(os.environ['SIBLING']), 0, 0))\" \
        && echo escaped",
    ),
    attempt(
        "memory of a sibling",
        "head -c 0 /proc/$SIBLING/mem && echo escaped",
    ),
    attempt(
        "environment of the engine",
        "head -c 1 /proc/$ENGINE/environ >/dev/null && \
        head -c 0 /proc/$ENGINE/mem && echo escaped",
    ),
    attempt("a user namespace", "unshare -Ur true && echo escaped"),
    attempt(
        "io_uring",
        "python3 -c \"import ctypes, sys; p = ctypes.create_string_buffer(120); \
        sys.exit(ctypes.CDLL(None).syscall(425, 1, p) < 0)\" && echo escaped",
    ),
    attempt(
        "keys of the session",
        "python3 -c \"import ctypes, sys; \
        sys.exit(ctypes.CDLL(None).syscall(250, 0, -3, 1) < 0)\" && echo escaped",
    ),
    as_root(attempt(
        "mount",
        "mkdir m && mount -t tmpfs none m && umount m && echo escaped",
    )),
    as_root(attempt(
        "a device node",
        "mknod disk b 7 99 && echo escaped",
    )),
    as_root(attempt(
        "a kernel setting",
        "f=/proc/sys/kernel/printk; v=$(cat $f) && \
        (echo \"$v\" > $f) && echo escaped",
    )),
    as_root(attempt(
        "another host name",
        "hostname \"$(hostname)\" && echo escaped",
    )),
];

/// As much of a repository as git needs to know one.
fn repository(path: &Path) {
    write(path.join("HEAD"), "ref: refs/heads/main");
    write(
        path.join("config"),
        "[core]\n\trepositoryformatversion = 0\n",
    );
    for directory in ["objects", "refs", "hooks"] {
        std::fs::create_dir_all(path.join(directory)).unwrap();
    }
}

/// What attempts are aimed at.
struct Target {
    place: tempfile::TempDir,
    sibling: Process,
    tcp: std::net::TcpListener,
    _sockets: [UnixListener; 3],
    abstract_name: String,
}

impl Target {
    async fn new(launcher: &Launcher, home: &Path) -> Self {
        let place = scratch();
        let at = |name: &str| place.path().join(name);
        write(at("outside/file"), "untouched");
        write(at("work/.git/hooks/sample"), "");
        write(at("work/.troupe/config.toml"), "");
        repository(&at("work/sub/.git"));
        repository(&at("work/deep/er/sub/.git"));
        write(at("work/deep/er/.troupe/config.toml"), "");
        repository(&at("work/.git/modules/module"));
        write(at("work/module/.git"), "gitdir: ../.git/modules/module");
        repository(&at("work/store"));
        write(at("work/tree/.git"), "gitdir: ../store");
        write(home.join("token"), "secret");
        let abstract_name = at("abstract").display().to_string();
        let abstract_address = {
            use std::os::linux::net::SocketAddrExt;
            std::os::unix::net::SocketAddr::from_abstract_name(&abstract_name).unwrap()
        };
        let sockets = [
            UnixListener::bind(at("work/agent.sock")).unwrap(),
            UnixListener::bind(home.join("sock")).unwrap(),
            UnixListener::bind_addr(&abstract_address).unwrap(),
        ];
        let sibling = CommandSpec {
            confinement: Confinement::Policy {
                policy: workspace_only(),
                cwd: at("work"),
            },
            ..bash("sleep 1000")
        };
        Self {
            sibling: launcher.spawn(sibling).await.unwrap(),
            tcp: std::net::TcpListener::bind("127.0.0.1:0").unwrap(),
            _sockets: sockets,
            abstract_name,
            place,
        }
    }

    fn spec(&self, attempt: &Attempt, home: &Path, policy: SandboxPolicy) -> CommandSpec {
        let work = self.place.path().join("work");
        let mut spec = bash(attempt.script);
        spec.cwd.clone_from(&work);
        spec.confinement = Confinement::Policy { policy, cwd: work };
        let variables = [
            (
                "OUTSIDE",
                self.place.path().join("outside").display().to_string(),
            ),
            (
                "SOCKET",
                self.place
                    .path()
                    .join("work/agent.sock")
                    .display()
                    .to_string(),
            ),
            ("TROUPE_HOME", home.display().to_string()),
            ("ABSTRACT", self.abstract_name.clone()),
            ("TCP", self.tcp.local_addr().unwrap().port().to_string()),
            ("ENGINE", std::process::id().to_string()),
            ("SIBLING", self.sibling.pid().to_string()),
        ];
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        spec.env.extend(variables);
        spec.env
            .insert("PATH".into(), "/usr/sbin:/sbin:/usr/bin:/bin".into());
        spec
    }
}

fn home() -> (tempfile::TempDir, PathBuf) {
    let home = scratch();
    let path = home.path().to_path_buf();
    (home, path)
}

async fn escapes(attempt: &Attempt, backend: BackendChoice, policy: SandboxPolicy) -> bool {
    let (_guard, home) = home();
    let launcher = Launcher::new(LauncherOptions {
        backend,
        troupe_home: Some(home.clone()),
        ..LauncherOptions::default()
    });
    let target = Target::new(&launcher, &home).await;
    let done = run_with(&launcher, target.spec(attempt, &home, policy)).await;
    done.stdout.contains("escaped")
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
        if attempt.needs == Needs::Root && !geteuid().is_root() {
            continue;
        }
        if !escapes(
            attempt,
            BackendChoice::Landlock,
            SandboxPolicy::DangerFullAccess,
        )
        .await
        {
            wrong.push(format!("{}: proves nothing", attempt.name));
        }
        for backend in BACKENDS {
            let escapes = escapes(attempt, backend, workspace_only()).await;
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
    use std::os::unix::process::CommandExt;
    const NOBODY_IN_PARTICULAR: u32 = 4242;
    if !geteuid().is_root() {
        eprintln!("not run: only root can become another user");
        return;
    }
    // Where the test lies, the other user may not be let in.
    let (_dir, this) = reachable_copy();
    let output = Command::new(this)
        .args([
            "sandbox::",
            "escape::",
            "denial::",
            "fallback::",
            "home::",
            "nested::",
            "ownership::",
            "terminal::",
        ])
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
    assert!(stdout.contains("every_attempt_on_it_works_without_a_sandbox_and_none_within ... ok"));
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
