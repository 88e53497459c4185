//! What a command cannot make, at no moment: a repository where none is, and files that carry the
//! rights of root out of the sandbox.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use troupe_process::{BackendChoice, holds_repository, is_placeholder};
use troupe_protocol::policy::SandboxPolicy;

use crate::support::{BACKENDS, confined, launcher_with, run_with, scratch, workspace_only, write};

/// Everything that gives a name to something, with a repository that is ready to be put there.
const EVERY_CALL: &str = r#"python3 - <<'END'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
os.makedirs('evil/objects'); os.makedirs('evil/refs')
open('evil/HEAD', 'w').write('ref: refs/heads/main')
open('file', 'w').write('gitdir: evil')
HERE = -100
def attempt(name, what):
    try:
        done = what()
    except OSError:
        return
    if done is None or done >= 0:
        print('made by', name)
attempt('mkdir', lambda: os.mkdir('.git'))
attempt('rename', lambda: os.rename('evil', '.git'))
attempt('exchange', lambda: libc.syscall(316, HERE, b'evil', HERE, b'.git', 2))
attempt('link', lambda: os.link('file', '.git'))
attempt('symlink', lambda: os.symlink('evil', '.git'))
attempt('open', lambda: os.open('.git', os.O_CREAT | os.O_WRONLY))
attempt('openat2', lambda: libc.syscall(437, HERE, b'.git', (ctypes.c_uint64 * 3)(0o101, 0o644, 0), 24))
attempt('mknod', lambda: os.mknod('.git'))
attempt('fill', lambda: os.mkdir('.git/objects'))
attempt('remove', lambda: os.rmdir('.git'))
attempt('mount', lambda: libc.mount(b'evil', b'.git', None, 4096, None))
attempt('io_uring', lambda: libc.syscall(425, 1, ctypes.create_string_buffer(120)))
END"#;

/// One thread changes the path while another has the kernel read it, as often as it can.
const RACE: &str = r#"python3 - <<'END'
import ctypes, os, threading
libc = ctypes.CDLL(None)
os.makedirs('evil')
open('evil/HEAD', 'w').write('ref: refs/heads/main')
path = ctypes.create_string_buffer(b'xgit')
over = False
def flip():
    while not over:
        path[0] = b'.'
        path[0] = b'x'
threading.Thread(target=flip).start()
for _ in range(3000):
    libc.rename(b'evil', path)
    libc.rename(b'xgit', b'evil')
over = True
END"#;

/// Ends a look also when a test fails, which would never end else.
struct Until(Arc<AtomicBool>);

impl Drop for Until {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Looks, as a second program would, for as long as something else is done.
async fn ever_seen(work: &Path, done: impl Future<Output = ()>) -> bool {
    let until = Until(Arc::default());
    let (work, over) = (work.to_path_buf(), Arc::clone(&until.0));
    let looking = tokio::task::spawn_blocking(move || {
        let mut seen = false;
        while !over.load(Ordering::Relaxed) {
            seen |= holds_repository(&work);
        }
        seen
    });
    done.await;
    drop(until);
    looking.await.unwrap()
}

#[tokio::test]
async fn no_call_makes_a_repository_where_none_is() {
    let place = scratch();
    let work = place.path().canonicalize().unwrap();
    let launcher = launcher_with(BackendChoice::Namespaces);
    let command = async {
        let spec = confined(EVERY_CALL, workspace_only(), &work);
        let done = run_with(&launcher, spec).await;
        assert_eq!(done.stdout, "", "{}", done.stderr);
        assert!(done.exit.is_success(), "{}", done.stderr);
    };
    assert!(!ever_seen(&work, command).await);
    assert!(!work.join(".git").exists(), "the name is free again");
    let fresh = confined(EVERY_CALL, SandboxPolicy::DangerFullAccess, &work);
    std::fs::remove_dir_all(work.join("evil")).unwrap();
    let done = run_with(&launcher, fresh).await;
    assert!(done.stdout.contains("made by mkdir"), "{}", done.stdout);
}

#[tokio::test]
async fn a_path_that_changes_while_the_kernel_reads_it_makes_none_either() {
    let place = scratch();
    let work = place.path().canonicalize().unwrap();
    let launcher = launcher_with(BackendChoice::Namespaces);
    let command = async {
        let done = run_with(&launcher, confined(RACE, workspace_only(), &work)).await;
        assert!(done.exit.is_success(), "{}", done.stderr);
        let moved = done.exit.denial.is_some_and(|denial| denial.moved_aside);
        assert!(!moved);
    };
    assert!(!ever_seen(&work, command).await);
    assert!(!work.join(".git").exists());
}

/// To git the directory is nothing, so the user's own commands go on as before.
#[tokio::test]
async fn while_the_name_is_held_git_sees_no_repository_and_the_user_can_make_one() {
    let place = scratch();
    let outer = place.path().canonicalize().unwrap();
    let work = outer.join("inner");
    std::fs::create_dir(&work).unwrap();
    let git = |arguments: &[&str], directory: &Path| {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(directory)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"], &outer);
    let launcher = launcher_with(BackendChoice::Namespaces);
    let script = "touch started; while [ ! -e go ]; do :; done";
    let user = async {
        while !work.join("started").exists() {
            tokio::task::yield_now().await;
        }
        assert!(is_placeholder(&work.join(".git")));
        let top = git(&["rev-parse", "--show-toplevel"], &work);
        assert_eq!(Path::new(top.trim()), outer);
        git(&["init", "-q"], &work);
        assert!(holds_repository(&work));
        std::fs::write(work.join("go"), "").unwrap();
    };
    let command = run_with(&launcher, confined(script, workspace_only(), &work));
    tokio::join!(command, user);
    assert!(work.join(".git/HEAD").exists(), "what the user made stays");
    let spec = confined("echo evil > .git/config; echo $?", workspace_only(), &work);
    assert_eq!(run_with(&launcher, spec).await.stdout, "1\n");
}

#[tokio::test]
async fn commands_that_run_at_the_same_time_hold_the_name_together() {
    let place = scratch();
    let work = place.path().canonicalize().unwrap();
    let (one, other) = (
        launcher_with(BackendChoice::Namespaces),
        launcher_with(BackendChoice::Namespaces),
    );
    let waiting = "touch started; while [ ! -e go ]; do :; done; mkdir .git; echo $?";
    let meanwhile = async {
        while !work.join("started").exists() {
            tokio::task::yield_now().await;
        }
        run_with(&other, confined("true", workspace_only(), &work)).await;
        assert!(work.join(".git").exists(), "the first still needs it");
        std::fs::write(work.join("go"), "").unwrap();
    };
    let first = run_with(&one, confined(waiting, workspace_only(), &work));
    let (first, ()) = tokio::join!(first, meanwhile);
    assert_eq!(first.stdout, "1\n");
    assert!(!work.join(".git").exists());
}

#[tokio::test]
async fn a_submodule_whose_directories_are_missing_cannot_be_planted() {
    let place = scratch();
    let work = place.path().canonicalize().unwrap();
    let script = "git init -q && git update-index --add --cacheinfo \
                  160000,0123456789012345678901234567890123456789,a/b/sub \
                  && git update-index --add --cacheinfo \
                  160000,0123456789012345678901234567890123456789,plain/sub";
    let made = Command::new("sh")
        .args(["-c", script])
        .current_dir(&work)
        .status();
    assert!(made.unwrap().success());
    write(work.join("plain"), "a file where a directory belongs");
    let launcher = launcher_with(BackendChoice::Namespaces);
    let script = "mkdir -p a/b/sub/.git; mkdir x && mv x a; rm -f plain; mkdir -p plain/sub/.git; \
                  ls -A | tr '\\n' ' '";
    let done = run_with(&launcher, confined(script, workspace_only(), &work)).await;
    assert_eq!(done.stdout, ".git a plain x ", "{}", done.stderr);
    assert!(!work.join("a").exists());
    assert!(work.join("plain").is_file());
}

#[tokio::test]
async fn root_makes_no_file_that_carries_its_rights_out_of_the_sandbox() {
    const MAKE: &str = r#"cp /bin/true a; chmod u+s a; cp /bin/true b; chmod 2755 b
python3 - <<'END'
import ctypes, os
def attempt(what):
    try: what()
    except OSError: pass
attempt(lambda: os.open('c', os.O_CREAT | os.O_WRONLY, 0o4755))
attempt(lambda: os.mknod('d', 0o104755))
attempt(lambda: os.fchmod(os.open('e', os.O_CREAT | os.O_WRONLY, 0o755), 0o4755))
ctypes.CDLL(None).syscall(452, -100, b'a', 0o4755, 0)
END
chmod 755 a && echo usual"#;
    if !nix::unistd::geteuid().is_root() {
        eprintln!("not run: only root's files carry the rights of root");
        return;
    }
    for backend in BACKENDS {
        let place = scratch();
        let work = place.path().canonicalize().unwrap();
        let launcher = launcher_with(backend);
        let done = run_with(&launcher, confined(MAKE, workspace_only(), &work)).await;
        assert_eq!(done.stdout, "usual\n", "{}", done.stderr);
        let told = done
            .exit
            .denial
            .map(|denial| denial.what)
            .unwrap_or_default();
        assert!(told.contains("set-user-ID"), "{told}");
        for entry in work.read_dir().unwrap().flatten() {
            let mode = entry.metadata().unwrap().mode();
            assert_eq!(mode & 0o6000, 0, "{entry:?} {mode:o}");
        }
    }
}

/// Makes a repository with a directory that was there before any command.
fn repository_with_directories(top: &Path, directories: &[&str]) {
    for directory in directories {
        std::fs::create_dir_all(top.join(directory)).unwrap();
    }
    let made = Command::new("git")
        .args(["init", "-q"])
        .current_dir(top)
        .status();
    assert!(made.unwrap().success());
}

/// Git obeys the repository that it finds first, and a person changes into directories.
#[tokio::test]
async fn no_call_makes_a_repository_in_a_directory_of_a_repository() {
    for backend in BACKENDS {
        let place = scratch();
        let work = place.path().canonicalize().unwrap();
        repository_with_directories(&work, &["sub/deeper"]);
        let launcher = launcher_with(backend);
        for directory in ["sub", "sub/deeper"] {
            let script = format!("cd {directory}\n{EVERY_CALL}");
            let done = run_with(&launcher, confined(&script, workspace_only(), &work)).await;
            assert_eq!(done.stdout, "", "{backend:?}: {}", done.stderr);
            let what = done.exit.denial.unwrap().what;
            assert!(what.contains(&format!("{directory}/.git")), "{what}");
            assert!(!work.join(directory).join(".git").exists());
        }
        let links = "ln -s sub/.git link; echo x > link; ln -s sub away; mkdir away/.git; \
                     exec 9< sub; mkdir /proc/self/fd/9/.git; mkdir sub/.troupe; ls -A sub";
        let done = run_with(&launcher, confined(links, workspace_only(), &work)).await;
        assert!(!done.stdout.contains(".git"), "{}", done.stdout);
        assert!(!done.stdout.contains(".troupe"), "{}", done.stdout);
        // What a command makes itself is its own.
        let own = "mkdir own && git init -q own && git init -q sub/own; echo $?";
        let done = run_with(&launcher, confined(own, workspace_only(), &work)).await;
        assert_eq!(done.stdout, "0\n", "{backend:?}: {}", done.stderr);
    }
}

/// What is made by a path that changed while the kernel read it, or by giving a directory with a
/// repository the name of an old one, is gone before anybody hears of the command's end.
#[tokio::test]
async fn what_gets_past_the_refusal_in_a_directory_is_moved_aside_at_the_end() {
    let race = format!(
        "cd sub\n{}",
        RACE.replace("over = True", "over = True\nlibc.rename(b'evil', b'kept')")
    );
    let tricks = [
        race.as_str(),
        "cp -r sub new && git init -q new/deeper && git init -q new && mv sub away && mv new sub",
        "mv sub away && mkdir -p sub/deeper && git init -q sub && git init -q sub/deeper",
        "git init -q new && mkdir new/deeper && mv sub away && ln -s new sub",
    ];
    for trick in tricks {
        let place = scratch();
        let work = place.path().canonicalize().unwrap();
        repository_with_directories(&work, &["sub/deeper", "beside"]);
        let launcher = launcher_with(BackendChoice::Namespaces);
        let done = run_with(&launcher, confined(trick, workspace_only(), &work)).await;
        assert!(done.exit.is_success(), "{trick}: {}", done.stderr);
        for directory in ["sub", "sub/deeper", "beside"] {
            let directory = work.join(directory);
            assert!(!holds_repository(&directory), "{trick}: {directory:?}");
        }
        if trick != race {
            let denial = done.exit.denial.expect("it is told");
            assert!(
                denial.moved_aside && denial.what.contains(".git (moved aside)"),
                "{denial:?}"
            );
        }
        // The repository around them is as it was.
        assert!(holds_repository(&work));
    }
}

/// A command in the background has no end for a long time.
#[tokio::test]
async fn what_a_running_command_planted_is_moved_aside_while_it_runs() {
    let place = scratch();
    let work = place.path().canonicalize().unwrap();
    repository_with_directories(&work, &["sub"]);
    let launcher = launcher_with(BackendChoice::Namespaces);
    let script = "mv sub away && mkdir sub && git init -q sub && echo planted && \
                  while [ -e sub/.git ]; do sleep 0.05; done; echo moved";
    let done = run_with(&launcher, confined(script, workspace_only(), &work)).await;
    assert_eq!(done.stdout, "planted\nmoved\n", "{}", done.stderr);
    assert!(done.exit.denial.is_some_and(|denial| denial.moved_aside));
}

/// As a workspace in a temporary directory is.
#[tokio::test]
async fn no_repository_is_made_above_a_workspace() {
    for backend in BACKENDS {
        let place = scratch();
        let root = place.path().canonicalize().unwrap();
        let work = root.join("above/work");
        std::fs::create_dir_all(&work).unwrap();
        let policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: vec![root.clone()],
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        };
        let launcher = launcher_with(backend);
        for directory in ["..", "../.."] {
            let script = format!("cd {directory}\n{EVERY_CALL}\nrm -r evil file");
            let done = run_with(&launcher, confined(&script, policy.clone(), &work)).await;
            assert_eq!(done.stdout, "", "{backend:?} {directory}: {}", done.stderr);
            assert!(!work.join(directory).join(".git").exists());
        }
    }
}

/// Those of others, and of earlier sessions. What a command clones there is its own.
#[tokio::test]
async fn repositories_in_a_temporary_directory_are_read_only() {
    let (place, temporary) = (scratch(), scratch());
    let work = place.path().canonicalize().unwrap();
    let temporary = temporary.path().canonicalize().unwrap();
    let other = temporary.join("project");
    repository_with_directories(&other, &["src"]);
    let policy = SandboxPolicy::WorkspaceWrite {
        writable_roots: Vec::new(),
        network_access: false,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: true,
    };
    let launcher = launcher_with(BackendChoice::Namespaces);
    let script = "cd $TMPDIR && echo evil >> project/.git/config; echo $?; \
                  echo evil > project/.git/hooks/pre-commit; echo $?; mv project away; echo $?; \
                  echo fine > project/src/file && git init -q own && echo x >> own/.git/config; \
                  echo $?";
    let mut spec = confined(script, policy, &work);
    let directory = temporary.to_string_lossy().into_owned();
    spec.env.insert("TMPDIR".to_owned(), directory);
    let done = run_with(&launcher, spec).await;
    assert_eq!(done.stdout, "1\n1\n1\n0\n", "{}", done.stderr);
}
